package stconfig

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
)

// fleetDoc is a configuration of about 15 KB, of device n of a fleet.
func fleetDoc(n int) []byte {
	doc := Sample()
	for i := range 5 {
		folder := Lookup(doc, Key{}.Child("folders").Child("photos-x4kd"))
		id := fmt.Sprintf("folder-%d-%d", n, i)
		doc = Replace(doc, Key{}.Child("folders").Child(id), folder.With("id", Text(id)).With("path", Text("/srv/"+id)))
	}
	return doc.JSON()
}

// twentyTemplates is what a person may ask of every device of a fleet.
func twentyTemplates(b testing.TB) []templateOp {
	texts := [][3]string{
		{"set", "options.natEnabled", `false`},
		{"set", "options.relaysEnabled", `false`},
		{"set", "options.maxSendKbps", `5000`},
		{"set", "options.maxRecvKbps", `5000`},
		{"set", "options.urAccepted", `-1`},
		{"set", "gui.theme", `"dark"`},
		{
			"merge",
			"options",
			`{"localAnnounceEnabled": false, "globalAnnounceEnabled": false, "minHomeDiskFree": {"value": 5}}`,
		},
		{"append", "options.alwaysLocalNets", `["10.0.0.0/8"]`},
		{"append", "options.listenAddresses", `"tcp://:22001"`},
		{"set", "folders.*.rescanIntervalS", `3600`},
		{"set", "folders.*.fsWatcherEnabled", `true`},
		{"set", "folders.music", `{"path": "/srv/music", "devices": [{"deviceID": "` + nas + `"}]}`},
		{"set", "folders.music.versioning", `{"type": "simple", "params": {"keep": "5"}}`},
		{"append", "folders.photos-x4kd.devices", `{"deviceID": "` + other + `"}`},
		{"append", "devices", `{"deviceID": "` + other + `", "name": "new"}`},
		{"set", "devices.*.compression", `"always"`},
		{"merge", "defaults.folder", `{"rescanIntervalS": 60}`},
		{"remove", "folders.docs-7hq2.devices." + phone, `true`},
		{"set", "folders.absent.paused", `true`},
		{"merge", "", `{"gui": {"debugging": false}, "options": {"startBrowser": false}}`},
	}
	templates := make([]templateOp, len(texts))
	for i, text := range texts {
		key, err := ParseKey(text[1])
		if err != nil {
			b.Fatal(err)
		}
		templates[i] = templateOp{fleet.Op(text[0]), key, parsed(b, text[2])}
	}
	return templates
}

type templateOp struct {
	op    fleet.Op
	key   Key
	value Value
}

func BenchmarkParse(b *testing.B) {
	data := fleetDoc(0)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseYardstick is the same document by encoding/json.
func BenchmarkParseYardstick(b *testing.B) {
	data := fleetDoc(0)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFold is twenty templates over one parsed document. The goal is at most twice the time of BenchmarkParse.
func BenchmarkFold(b *testing.B) {
	templates := twentyTemplates(b)
	doc, err := Parse(fleetDoc(0))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		fold20(b, doc, templates)
	}
}

func fold20(b testing.TB, doc Value, templates []templateOp) Value {
	for _, t := range templates {
		var err error
		if doc, _, err = Apply(doc, t.op, t.key, t.value, SampleID); err != nil {
			b.Fatal(err)
		}
	}
	return doc
}

// BenchmarkFleet decodes and folds the configurations of 10,000 devices, each its own document, on all processors. It
// reports the seconds of both and their ratio; the goals are 3 s for the fold on two cores and a ratio of 2.
func BenchmarkFleet(b *testing.B) {
	const devices, distinctDocs = 10_000, 100
	templates := twentyTemplates(b)
	texts := make([][]byte, distinctDocs)
	for i := range texts {
		texts[i] = fleetDoc(i)
	}
	docs := make([]Value, devices)
	for b.Loop() {
		decode := onAll(devices, func(i int) { docs[i], _ = Parse(texts[i%distinctDocs]) })
		fold := onAll(devices, func(i int) { fold20(b, docs[i], templates) })
		b.ReportMetric(decode.Seconds(), "decode-s")
		b.ReportMetric(fold.Seconds(), "fold-s")
		b.ReportMetric(fold.Seconds()/decode.Seconds(), "fold/decode")
	}
}

func onAll(n int, do func(i int)) time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

func BenchmarkDiff(b *testing.B) {
	doc, err := Parse(fleetDoc(0))
	if err != nil {
		b.Fatal(err)
	}
	folded := fold20(b, doc, twentyTemplates(b))
	fresh, err := Parse(folded.JSON()) // nothing shared, as after reading back
	if err != nil {
		b.Fatal(err)
	}
	b.Run("shared", func(b *testing.B) {
		for b.Loop() {
			Diff(doc, folded)
		}
	})
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			Diff(doc, fresh)
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	doc, err := Parse(fleetDoc(0))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Digest(doc)
	}
}

func BenchmarkMask(b *testing.B) {
	doc := Sample()
	for b.Loop() {
		Mask(doc)
	}
}
