module github.com/open-telemetry/opentelemetry-collector-contrib/recorder

go 1.26.0

require (
	github.com/open-telemetry/opentelemetry-collector-contrib/internal/filter v0.161.0
	github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl v0.161.0
	go.opentelemetry.io/collector/component/componenttest v0.161.0
	go.opentelemetry.io/collector/featuregate v1.67.0
	go.opentelemetry.io/collector/pdata v1.67.0
)
