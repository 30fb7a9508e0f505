// Answers OTTL conditions with the Collector's own packages, on every span of a request.
//
// Rows come on standard input: context, anything, condition, parted by tabs. The module's path begins as it does because
// Go lets nobody else import the Collector's internal packages.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/open-telemetry/opentelemetry-collector-contrib/internal/filter/filterottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottlresource"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottlscope"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottlspan"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottlspanevent"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/ottlfuncs"
)

type evaluate func(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span, ptrace.SpanEvent) (bool, error)

// once gives one letter, a crash included.
func once(eval func() (bool, error)) (letter string) {
	defer func() {
		if recover() != nil {
			letter = "P"
		}
	}()
	switch ok, err := eval(); {
	case err != nil:
		return "E"
	case ok:
		return "T"
	default:
		return "F"
	}
}

func load(kind, text string) (evaluate, error) {
	set, one, ctx := componenttest.NewNopTelemetrySettings(), []string{text}, context.Background()
	switch kind {
	case "span":
		c, err := filterottl.NewBoolExprForSpanWithPathContextNames(one, filterottl.StandardSpanFuncs(), ottl.PropagateError, set)
		return func(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, s ptrace.Span, _ ptrace.SpanEvent) (bool, error) {
			return c.Eval(ctx, ottlspan.NewTransformContext(rs, ss, s))
		}, err
	case "spanevent":
		c, err := filterottl.NewBoolExprForSpanEventWithPathContextNames(one, filterottl.StandardSpanEventFuncs(), ottl.PropagateError, set)
		return func(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, s ptrace.Span, e ptrace.SpanEvent) (bool, error) {
			return c.Eval(ctx, ottlspanevent.NewTransformContext(rs, ss, s, e))
		}, err
	case "scope":
		c, err := filterottl.NewBoolExprForScope(one, ottlfuncs.StandardConverters[*ottlscope.TransformContext](), ottl.PropagateError, set)
		return func(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, _ ptrace.Span, _ ptrace.SpanEvent) (bool, error) {
			return c.Eval(ctx, ottlscope.NewTransformContext(ss.Scope(), rs.Resource(), ss, rs))
		}, err
	case "resource":
		c, err := filterottl.NewBoolExprForResource(one, ottlfuncs.StandardConverters[*ottlresource.TransformContext](), ottl.PropagateError, set)
		return func(rs ptrace.ResourceSpans, _ ptrace.ScopeSpans, _ ptrace.Span, _ ptrace.SpanEvent) (bool, error) {
			return c.Eval(ctx, ottlresource.NewTransformContext(rs.Resource(), rs))
		}, err
	}
	return nil, fmt.Errorf("no context %q", kind)
}

func answers(kind, text string, td ptrace.Traces) (out string) {
	defer func() {
		if recover() != nil {
			out = "P"
		}
	}()
	eval, err := load(kind, text)
	if err != nil {
		return "!"
	}
	for _, rs := range td.ResourceSpans().All() {
		if kind == "resource" {
			out += once(func() (bool, error) { return eval(rs, ptrace.ScopeSpans{}, ptrace.Span{}, ptrace.SpanEvent{}) })
			continue
		}
		for _, ss := range rs.ScopeSpans().All() {
			if kind == "scope" {
				out += once(func() (bool, error) { return eval(rs, ss, ptrace.Span{}, ptrace.SpanEvent{}) })
				continue
			}
			for _, s := range ss.Spans().All() {
				if kind == "span" {
					out += once(func() (bool, error) { return eval(rs, ss, s, ptrace.SpanEvent{}) })
					continue
				}
				for _, e := range s.Events().All() {
					out += once(func() (bool, error) { return eval(rs, ss, s, e) })
				}
			}
		}
	}
	return out
}

func main() {
	if err := featuregate.GlobalRegistry().Set("ottl.functions.enableLambda", true); err != nil {
		panic(err)
	}
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(raw)
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		row := strings.SplitN(in.Text(), "\t", 3)
		fmt.Printf("%s\t%s\t%s\n", row[0], answers(row[0], row[2], td), row[2])
	}
}
