//go:build next

package main

import "go.opentelemetry.io/collector/processor"

// The newer release of these does not resolve (see next.mod).
func beside() []processor.Factory { return nil }
