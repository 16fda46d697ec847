package sandbox

import (
	"fmt"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

const benchDevices = 1000

// Two programs that list all devices of a tag: the result of the first is the same for every device.
const (
	sameForAll = "def template():\n    return [{\"deviceID\": d.deviceID} for d in devices(\"all\")]\n"
	ownForEach = "def template(device):\n    return [{\"deviceID\": d.deviceID} for d in devices(\"all\") if " +
		"d.deviceID != device.deviceID]\n"
)

func manyDevices(n int) []template.Facts {
	devices := make([]template.Facts, n)
	for i := range devices {
		devices[i] = template.Facts{
			DeviceID: fleet.DeviceIDOf([32]byte{byte(i), byte(i >> 8)}), Label: fmt.Sprintf("device %d", i),
			Tags: []fleet.Tag{"all"}, APIPort: 8384, OS: "linux", Arch: "amd64", Version: "v2.1.3",
		}
	}
	return devices
}

// One template for all of a thousand devices, which it lists: one op is the whole fleet. The yardstick is the bare
// interpreter in this process, which gives Starlark values that nobody has turned into configurations yet. "same" must
// cost one evaluation, "own" at most three times the yardstick; the third metric is that ratio.
func BenchmarkThousandDevices(b *testing.B) {
	devices := manyDevices(benchDevices)
	p := running(b, Options{})
	all := template.NewFleet(devices)
	for _, bench := range []struct {
		name, text string
		evaluated  int
	}{{"same", sameForAll, 1}, {"own", ownForEach, benchDevices}} {
		b.Run(bench.name, func(b *testing.B) {
			bare := bareInterpreter(b, bench.text, devices, bench.evaluated)
			for n := 0; b.Loop(); n++ {
				text := fmt.Sprintf("%s# %d\n", bench.text, n) // no result is known already
				for _, d := range devices {
					r, err := p.Evaluate(within(b, time.Minute), Request{Text: text, Device: d, Fleet: all})
					if err != nil || r.Value.Len() < benchDevices-1 {
						b.Fatalf("%d values, %v", r.Value.Len(), err)
					}
				}
			}
			b.ReportMetric(bare.Seconds()*1e9, "bare-ns/op")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/bare.Seconds(), "x-bare")
		})
	}
}

// bareInterpreter is the time that nothing but the interpreter takes for that many evaluations, over frozen structs.
func bareInterpreter(b *testing.B, text string, devices []template.Facts, evaluations int) time.Duration {
	b.Helper()
	structs := make([]starlark.Value, len(devices))
	for i, d := range devices {
		structs[i] = starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
			"deviceID": starlark.String(d.DeviceID), "label": starlark.String(d.Label), "apiPort": starlark.MakeInt(d.APIPort),
		})
	}
	all := starlark.NewList(structs)
	all.Freeze()
	predeclared := starlark.StringDict{"devices": starlark.NewBuiltin("devices",
		func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return all, nil
		})}
	thread := &starlark.Thread{}
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, "bare", text, predeclared)
	if err != nil {
		b.Fatal(err)
	}
	fn := globals["template"].(*starlark.Function)
	began := time.Now()
	for i := range evaluations {
		var arguments starlark.Tuple
		if fn.NumParams() > 0 {
			arguments = starlark.Tuple{structs[i]}
		}
		if _, err := starlark.Call(thread, fn, arguments, nil); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
