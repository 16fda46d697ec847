package syncthing

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A daemon puts its whole configuration into each event of a change. After a template has changed each of a hundred
// folders, the next answer holds a hundred of them.
func TestAHundredSavesOfALargeConfigurationAreOneSmallAnswer(t *testing.T) {
	const saves = 100
	f := newFake(t, fakeOptions{})
	config := `{"folders":` + list(300, `{"id":"a","label":"`+strings.Repeat(`{\"[`, 200)+`"}`) + `}`
	f.handle("/rest/events", func(w http.ResponseWriter, _ *http.Request) {
		for i := range saves {
			fmt.Fprintf(w, `%s{"id":%d,"type":"ConfigSaved","data":`, []string{"[", "},"}[min(i, 1)], i+1)
			_, _ = io.WriteString(w, config)
		}
		fmt.Fprintf(w, `},{"id":%d,"type":"StateChanged","data":{"folder":"a","to":"idle"}}]`, saves+1)
	})
	c := newClient(t, f.target(), DefaultLimits)
	ask := func() []fleet.DaemonEvent {
		events, err := c.Events(t.Context(), 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	events := ask()
	for i, e := range events {
		if newest := i == saves-1; newest != (e.Config == stconfig.SumOfText([]byte(config))) {
			t.Errorf("event %d names the configuration in it: %t", i, !newest)
		}
	}
	if len(events) != saves+1 || events[saves].Folder != "a" || events[saves].State != "idle" {
		t.Fatalf("%d events, the last is %+v", len(events), events[len(events)-1])
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ask()
	runtime.ReadMemStats(&after)
	allocated := int64(after.TotalAlloc - before.TotalAlloc)
	// Without the stripper it is several times what was sent. The race detector empties pools, which counts here.
	if sent := int64(saves * len(config)); allocated > sent {
		t.Errorf("an answer of %d KiB took %d KiB, on both sides", sent>>10, allocated>>10)
	}
}

func TestTheSifterKeepsAllButConfigurations(t *testing.T) {
	for in, want := range map[string]string{
		`[{"id":1,"type":"ConfigSaved","data":{"a":[1,"]}\"",{}]}}]`:    `[{"id":1,"type":"ConfigSaved","data":{}}]`,
		`[{"type":"ConfigSaved","data":[{"data":{}}],"id":1},{}]`:       `[{"type":"ConfigSaved","data":[],"id":1},{}]`,
		`[{"type" : "ConfigSaved" , "data" : { "a" : 1 } , "x" : [1]}]`: `[{"type" : "ConfigSaved" , "data" : {} , "x" : [1]}]`,
		`[{"type":"ConfigSaved","data":"{[","other":{"a":1}}]`:          ``,
		`[{"type":"ConfigSaved","DATA":{"a":1}}]`:                       ``,
		`[{"type":"ConfigSavedX","data":{"a":1}}]`:                      ``,
		`[{"type":"Config\"Saved","data":{"a":1}}]`:                     ``,
		`[{"data":{"a":1},"type":"ConfigSaved"}]`:                       ``,
		`[{"x":"type","y":"ConfigSaved","data":{"a":1}}]`:               ``,
		`[{"x":{"type":"ConfigSaved","data":{"a":1}}}]`:                 ``,
		`[{"type":"ConfigSaved"},{"data":{"a":1}}]`:                     ``,
		`]]}}{"type":"ConfigSaved","data":{`:                            ``,
		``:                                                              ``,
	} {
		if want == "" {
			want = in
		}
		whole := []byte(in)
		if got := string(whole[:new(configStripper).strip(whole)]); got != want {
			t.Errorf("of %s\n%s is left, want\n%s", in, got, want)
		}
		var pieces strings.Builder
		s := new(configStripper)
		for i := range in {
			one := []byte{in[i]}
			pieces.Write(one[:s.strip(one)])
		}
		if got := pieces.String(); got != want {
			t.Errorf("of the bytes of %s\n%s is left, want\n%s", in, got, want)
		}
	}
}

func TestTheNewestConfigurationIsNotNamedWhereAnEventHasItsDataFirst(t *testing.T) {
	const config = `{"version": 37, "a": "x y"}`
	for events, named := range map[string]bool{
		`{"id":1,"type":"ConfigSaved","data":{}},{"id":2,"type":"ConfigSaved","data":` + config + `}`:              true,
		`{"id":1,"type":"ConfigSaved","data":` + config + `},{"id":2,"type":"StateChanged","data":{"folder":"a"}}`: true,
		`{"id":1,"type":"ConfigSaved","data":` + config + `},{"id":2,"data":{},"type":"ConfigSaved"}`:              false,
		`{"id":1,"type":"ConfigSaved","data":` + config + `},{"id":2,"type":"ConfigSaved"}`:                        false,
		`{"id":1,"data":` + config + `,"type":"ConfigSaved"}`:                                                      false,
		`{"id":1,"type":"ConfigSaved"}`: false,
	} {
		f := newFake(t, fakeOptions{})
		f.handle("/rest/events", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "["+events+"]") })
		got, err := newClient(t, f.target(), DefaultLimits).Events(t.Context(), 0, 0, 0)
		if err != nil {
			t.Fatalf("%s: %v", events, err)
		}
		is := slices.ContainsFunc(got, func(e fleet.DaemonEvent) bool {
			return e.Config == stconfig.SumOfText([]byte(config))
		})
		none := !slices.ContainsFunc(got, func(e fleet.DaemonEvent) bool { return e.Config != stconfig.TextSum{} })
		if is != named || none == named {
			t.Errorf("%s: named %t, want %t", events, is, named)
		}
	}
}

func TestWhatASifterLeavesOutIsBounded(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/events", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"id":1,"type":"ConfigSaved","data":[`)
		forever(w, []byte(strings.Repeat("1,", 64<<10)), 0)
	})
	limits := DefaultLimits
	limits.PassedBytes = 4 << 20
	_, err := newClient(t, f.target(), limits).Events(t.Context(), 0, 0, 0)
	wantCode(t, err, fleet.CodeUnbelievable)
}
