package templates

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/adapter/sandbox"
	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

const (
	most  = 10_000 // devices
	atAll = 500    // documents in memory at once
)

// BenchmarkDesiredConfigurationOfTheFleet: twenty templates for each device, over configurations of 15 KB: eighteen
// are HJSON, one is a program whose result is the same for all, one a program that looks at its device. The yardstick
// is decoding those configurations once, by encoding/json and by stconfig. Programs are evaluated as the server does
// it, in workers.
func BenchmarkDesiredConfigurationOfTheFleet(b *testing.B) {
	pool := startPool(b)
	f := newManaged(b, pool, most)
	for b.Loop() {
		say("desired configuration, %d templates each, %.1f KB each; processor time of server and workers:",
			len(f.templates), float64(len(f.document(0)))/1000)
		var last costs
		for _, n := range []int{1000, 5000, most} {
			last = f.measure(b, n)
			say("%6d devices: fold %s = %s a device; decoding once %s by encoding/json, %s by stconfig; fold/decode %.2f and "+
				"%.2f (goal: at most 2)",
				n, ms(last.fold.cpu), last.fold.cpu/time.Duration(n), ms(last.json.cpu), ms(last.parse.cpu),
				ratio(last.fold.cpu, last.json.cpu), ratio(last.fold.cpu, last.parse.cpu))
		}
		say("%6d devices, fold: %.2f s on two processors that do nothing else (goal: 3 s); %.2f s by the clock, this time",
			most, last.fold.cpu.Seconds()/2, last.fold.wall.Seconds())
		say("%6d devices again, as they are once all is applied: fold %s, fold/decode %.2f and %.2f",
			most, ms(last.again.cpu), ratio(last.again.cpu, last.json.cpu), ratio(last.again.cpu, last.parse.cpu))
		looking := *f
		looking.templates = append(slices.Clone(f.templates[1:]), readsConfig)
		slow := looking.measure(b, 1000)
		say("%6d devices, one of the templates a program that reads the whole configuration: fold %s = %s a device, "+
			"fold/decode %.2f and %.2f\n",
			1000, ms(slow.fold.cpu), slow.fold.cpu/1000, ratio(slow.fold.cpu, slow.json.cpu),
			ratio(slow.fold.cpu, slow.parse.cpu))
		b.ReportMetric(last.fold.cpu.Seconds(), "fold-cpu-s")
		b.ReportMetric(ratio(last.fold.cpu, last.json.cpu), "fold/json")
		b.ReportMetric(ratio(last.fold.cpu, last.parse.cpu), "fold/parse")
	}
}

// managed is a fleet whose templates are known.
type managed struct {
	pool      *sandbox.Pool
	sample    []byte
	facts     []template.Facts
	all       *template.Fleet
	labels    map[fleet.DeviceID]string
	templates []fleet.Template
}

func newManaged(b *testing.B, pool *sandbox.Pool, n int) *managed {
	b.Helper()
	f := &managed{pool: pool, facts: factsOf(n), labels: map[fleet.DeviceID]string{}}
	const few = 5 // share a folder
	for i, d := range f.facts {
		f.labels[d.DeviceID] = d.Label
		if i < few {
			f.facts[i].Tags = []fleet.Tag{"all", "team"}
		}
	}
	f.all = template.NewFleet(f.facts)
	doc := stconfig.Sample()
	folder := stconfig.Lookup(doc, stconfig.Key{}.Child("folders").Child("photos-x4kd"))
	for i := range 6 {
		id := fmt.Sprintf("folder-%d", i)
		doc = stconfig.Replace(doc, stconfig.Key{}.Child("folders").Child(id),
			folder.With("id", stconfig.Text(id)).With("path", stconfig.Text("/srv/"+id)))
	}
	f.sample = doc.JSON()
	for i, t := range twentyTemplates {
		f.templates = append(f.templates, fleet.Template{ID: int64(i + 1), Op: t.op, Key: t.key, Text: t.text})
	}
	return f
}

var twentyTemplates = []struct {
	op        fleet.Op
	key, text string
}{
	{fleet.OpSet, "options.natEnabled", "false"},
	{fleet.OpSet, "options.relaysEnabled", "false"},
	{fleet.OpMerge, "options", "{\n  # KiB/s\n  maxSendKbps: 5000\n  maxRecvKbps: 5000\n}"},
	{fleet.OpSet, "options.urAccepted", "-1"},
	{fleet.OpSet, "gui.theme", `"dark"`},
	{fleet.OpMerge, "options",
		`{"localAnnounceEnabled": false, "globalAnnounceEnabled": false, "minHomeDiskFree": {"value": 5}}`},
	{fleet.OpAppend, "options.alwaysLocalNets", `["10.0.0.0/8"]`},
	{fleet.OpAppend, "options.listenAddresses", `"tcp://:22001"`},
	{fleet.OpSet, "folders.*.rescanIntervalS", "def template(device):\n    return 3600 + hash(device.deviceID) % 600\n"},
	{fleet.OpSet, "folders.*.fsWatcherEnabled", "true"},
	{fleet.OpSet, "folders.music", `{"path": "/srv/music", "label": "Music"}`},
	{fleet.OpSet, "folders.music.versioning.type", `"simple"`},
	{fleet.OpMerge, "folders.music.versioning", `{"params": {"keep": "5"}}`},
	{fleet.OpMerge, "folders.team",
		"def template():\n    return {\"path\": \"~/team\", \"devices\": [{\"deviceID\": d.deviceID} for d in " +
			"devices(tag=\"team\")]}\n"},
	{fleet.OpSet, "devices.*.compression", `"always"`},
	{fleet.OpMerge, "defaults.folder", `{"rescanIntervalS": 60}`},
	{fleet.OpSet, "folders.absent.paused", "true"},
	{fleet.OpMerge, "", `{"gui": {"debugging": false}, "options": {"startBrowser": false}}`},
	{fleet.OpMerge, "devices.*", `{"maxSendKbps": 100}`},
	{fleet.OpRemove, "options.listenAddresses", `["quic://:22002"]`},
}

// readsConfig is evaluated for each device over its whole configuration, which is sent to the worker.
var readsConfig = fleet.Template{ID: 21, Op: fleet.OpMerge, Key: "devices",
	Text: "def template(config):\n    return [{\"deviceID\": d.deviceID, \"maxRecvKbps\": 100} for d in " +
		"config.devices]\n"}

// document is the configuration of device i, byte by byte its own.
func (f *managed) document(i int) []byte {
	return bytes.ReplaceAll(f.sample, []byte(stconfig.SampleID), []byte(f.facts[i].DeviceID))
}

// costs of n devices.
type costs struct{ json, parse, fold, again cost }

// measure takes n devices through a group at a time: ten thousand decoded documents do not have to fit in memory.
func (f *managed) measure(b *testing.B, n int) costs {
	b.Helper()
	var c costs
	texts, docs, results := make([][]byte, atAll), make([]stconfig.Value, atAll), make([]desired.Result, atAll)
	var failed atomic.Pointer[error]
	check := func(err error) {
		if err != nil {
			failed.Store(&err)
		}
	}
	for first := 0; first < n; first += atAll {
		for i := range texts {
			texts[i] = f.document(first + i)
		}
		c.json = c.json.plus(costOf(b, func() {
			onAll(atAll, func(i int) {
				var v any
				check(json.Unmarshal(texts[i], &v))
			})
		}))
		c.parse = c.parse.plus(costOf(b, func() {
			onAll(atAll, func(i int) {
				var err error
				docs[i], err = stconfig.Parse(texts[i])
				check(err)
			})
		}))
		c.fold = c.fold.plus(costOf(b, func() {
			onAll(atAll, func(i int) {
				var err error
				results[i], err = f.fold(b.Context(), f.facts[first+i], docs[i], nil)
				check(err)
			})
		}))
		entries := make([][]fleet.BaseEntry, atAll)
		onAll(atAll, func(i int) { docs[i], entries[i] = applied(results[i], f.facts[first+i].DeviceID) })
		c.again = c.again.plus(costOf(b, func() {
			onAll(atAll, func(i int) {
				r, err := f.fold(b.Context(), f.facts[first+i], docs[i], entries[i])
				if err == nil && len(stconfig.Diff(docs[i], r.Desired)) > 0 {
					err = fmt.Errorf("a second fold differs: %v", stconfig.Diff(docs[i], r.Desired)[0].Key)
				}
				check(err)
			})
		}))
	}
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	return c
}

func (f *managed) fold(ctx context.Context, device template.Facts, doc stconfig.Value,
	entries []fleet.BaseEntry) (desired.Result, error) {
	return desired.Fold(desired.Input{
		Device: device.DeviceID, Observed: doc, Entries: entries, Templates: f.templates, Registered: f.label,
		Evaluate: func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
			r, err := f.pool.Evaluate(ctx, sandbox.Request{Text: t.Text, Device: device, Config: config, Fleet: f.all})
			return desired.Fragment{Value: r.Value, ReadsConfig: r.ReadsConfig}, err
		},
	})
}

// applied is the configuration once the daemon has it, and what Muster then knows that it wrote.
func applied(r desired.Result, id fleet.DeviceID) (stconfig.Value, []fleet.BaseEntry) {
	var sent []desired.Sent
	var keys []stconfig.Key
	for _, c := range stconfig.Diff(r.Observed(), r.Desired) {
		sent = append(sent, desired.Sent{Key: c.Key, To: c.To})
		keys = append(keys, c.Key)
	}
	doc := stconfig.Normalise(r.Desired)
	entries, err := desired.Finish(r.Begin(sent),
		desired.Reading{Document: doc, Own: id, Acknowledged: keys, Saved: true})
	if err != nil {
		panic(err) // the benchmark's own mistake
	}
	return doc, entries
}

func (f *managed) label(id fleet.DeviceID) (label string, registered bool) {
	label, registered = f.labels[id]
	return label, registered
}
