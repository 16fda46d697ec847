package templates

import (
	"fmt"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"muster/internal/adapter/sandbox"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Two programs that list all devices of a tag: the result of the first is the same for every device.
const (
	sameForAll = "def template():\n    return [{\"deviceID\": d.deviceID} for d in devices(\"all\")]\n"
	ownForEach = "def template(device):\n    return [{\"deviceID\": d.deviceID} for d in devices(\"all\") if " +
		"d.deviceID != device.deviceID]\n"
)

const tagged = 1000 // devices that the template lists, and for each of which it is evaluated

// BenchmarkOneTemplateForAThousandDevices: the yardstick is the bare interpreter in this process, which gives Starlark
// values that nobody has turned into configurations.
func BenchmarkOneTemplateForAThousandDevices(b *testing.B) {
	pool, devices := startPool(b), factsOf(tagged)
	all := template.NewFleet(devices)
	for round := 0; b.Loop(); round++ {
		fresh := func(text string) string { return fmt.Sprintf("%s# %d\n", text, round) } // no result is known already
		evaluate(b, pool, fresh(sameForAll)+"##\n", all, devices[:1])                     // the worker has the fleet
		bareOnce := bare(b, sameForAll, devices, 1)
		one := took(func() { evaluate(b, pool, fresh(sameForAll)+"#\n", all, devices[:1]) })
		same := took(func() { evaluate(b, pool, fresh(sameForAll), all, devices) })
		bareEach := bare(b, ownForEach, devices, tagged)
		own := took(func() { evaluate(b, pool, fresh(ownForEach), all, devices) })

		say("one template that lists %d devices, for each of them:", tagged)
		say("result the same for all:   %s for %d, of which %s for the first (interpreter alone, once: %s)",
			ms(same), tagged, ms(one), ms(bareOnce))
		say("result its own for each:   %s, interpreter alone %s: %.2f times (goal: at most 3)\n",
			ms(own), ms(bareEach), ratio(own, bareEach))
		b.ReportMetric(ratio(own, bareEach), "own/bare")
		b.ReportMetric(ratio(same, bareEach), "same/bare")
	}
	linear(b, pool)
}

// linear shows that a result which does not depend on the device costs in proportion to the devices.
func linear(b *testing.B, pool *sandbox.Pool) {
	var first time.Duration
	for _, n := range []int{1000, 2000, 4000, 8000} {
		devices := factsOf(n)
		all := template.NewFleet(devices)
		evaluate(b, pool, sameForAll+"# warm\n", all, devices[:1]) // the fleet is sent once, whatever the template
		cost := fastest(3, func(round int) {
			evaluate(b, pool, fmt.Sprintf("%s# %d of %d\n", sameForAll, round, n), all, devices)
		})
		if first == 0 {
			first = cost
		}
		say("result the same for all, %d devices: %s, %.2f times that of 1000 (linear: %d)", n, ms(cost), ratio(cost, first),
			n/1000)
	}
	say("\n")
}

// askFew asks for a few of the devices and looks at its own.
const askFew = "def template(device):\n    return [d.deviceID for d in devices(\"few\")] + [device.deviceID]\n"

// BenchmarkAskingALargeFleet: a program that asks for five devices is evaluated for a thousand, one by one. The
// yardstick is the same in a fleet that has no others: what ten thousand devices cost on top, they cost once per
// change.
func BenchmarkAskingALargeFleet(b *testing.B) {
	const few, asking = 5, 1000
	for b.Loop() {
		ask := func(n int) (first, rest time.Duration) {
			pool, devices := startPool(b), factsOf(n)
			for i := range few {
				devices[i].Tags = append(devices[i].Tags, "few")
			}
			all := template.NewFleet(devices)
			once := func(i int) {
				device := devices[i%n]
				device.DeviceID = devices[i%n].DeviceID + fleet.DeviceID(fmt.Sprint(i)) // no result is known already
				r, err := pool.Evaluate(b.Context(), sandbox.Request{Text: askFew, Device: device, Fleet: all})
				if err != nil || r.Value.Len() != few+1 {
					b.Fatalf("%d values, %v", r.Value.Len(), err)
				}
			}
			first = took(func() { once(0) })
			return first, took(func() {
				for i := range asking {
					once(i + 1)
				}
			}) / asking
		}
		_, small := ask(few)
		first, rest := ask(most)
		say("a program that asks for %d of %d devices: %s after a change, then %s for each device, %.2f times what it "+
			"takes in a fleet of %d\n",
			few, most, ms(first), ms(rest), ratio(rest, small), few)
		b.ReportMetric(ratio(rest, small), "large/small")
	}
}

// evaluate is what the reconciler does: one device after the other.
func evaluate(b *testing.B, pool *sandbox.Pool, text string, all *template.Fleet, devices []template.Facts) {
	for _, d := range devices {
		r, err := pool.Evaluate(b.Context(), sandbox.Request{Text: text, Device: d, Fleet: all})
		if err != nil || r.Value.Len() < len(all.Devices())-1 {
			b.Fatalf("%d values, %v", r.Value.Len(), err)
		}
	}
}

// bare is the time that nothing but the interpreter takes for that many evaluations, over frozen structs.
func bare(b *testing.B, text string, devices []template.Facts, evaluations int) time.Duration {
	b.Helper()
	structs := make([]starlark.Value, len(devices))
	for i, d := range devices {
		structs[i] = starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
			"deviceID": starlark.String(d.DeviceID), "label": starlark.String(d.Label), "apiPort": starlark.MakeInt(d.APIPort),
		})
	}
	list := starlark.NewList(structs)
	list.Freeze()
	predeclared := starlark.StringDict{"devices": starlark.NewBuiltin("devices",
		func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return list, nil
		})}
	thread := &starlark.Thread{}
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, "bare", text, predeclared)
	if err != nil {
		b.Fatal(err)
	}
	program := globals["template"].(*starlark.Function)
	return took(func() {
		for i := range evaluations {
			var arguments starlark.Tuple
			if program.NumParams() > 0 {
				arguments = starlark.Tuple{structs[i]}
			}
			if _, err := starlark.Call(thread, program, arguments, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func ms(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000) }
