//go:build kafka

package main

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkareceiver"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/receiver"
)

// Kafka resolves at one release at which no tail_sampling does (see kafka.mod): a binary of its own.
func beside() parts {
	return parts{
		receivers: []receiver.Factory{kafkareceiver.NewFactory()},
		exporters: []exporter.Factory{kafkaexporter.NewFactory()},
	}
}
