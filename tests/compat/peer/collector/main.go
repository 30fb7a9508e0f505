// Command peer is a Collector of stock modules: whatever stands beside tail_sampling in the recorded cases, the
// processors that stand beside it in real files, or Kafka. Nothing in it is ours, so that its answers are the Collector's.
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// Set by the linker to the release that go.mod names.
var version = "unknown"

// What only some of the binaries have.
type parts struct {
	receivers  []receiver.Factory
	processors []processor.Factory
	exporters  []exporter.Factory
}

func components() (otelcol.Factories, error) {
	more := beside()
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](append(more.receivers, otlpreceiver.NewFactory())...)
	if err != nil {
		return otelcol.Factories{}, err
	}
	processors, err := otelcol.MakeFactoryMap[processor.Factory](append(more.processors, batchprocessor.NewFactory())...)
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](
		append(more.exporters, debugexporter.NewFactory(), otlpexporter.NewFactory(), otlphttpexporter.NewFactory())...,
	)
	return otelcol.Factories{
		Receivers:  receivers,
		Processors: processors,
		Exporters:  exporters,
		Telemetry:  otelconftelemetry.NewFactory(),
	}, err
}

func main() {
	places := confmap.ResolverSettings{
		DefaultScheme: "env",
		ProviderFactories: []confmap.ProviderFactory{
			envprovider.NewFactory(), fileprovider.NewFactory(), yamlprovider.NewFactory(),
		},
	}
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo:              component.BuildInfo{Command: "peer", Description: "Stock Collector", Version: version},
		Factories:              components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: places},
	})
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "ended with an error:", err)
		os.Exit(1)
	}
}
