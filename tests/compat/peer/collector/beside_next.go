//go:build next

package main

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"
	"go.opentelemetry.io/collector/processor"
)

// The newer release of the others does not resolve (see next.mod).
func beside() parts {
	return parts{processors: []processor.Factory{tailsamplingprocessor.NewFactory()}}
}
