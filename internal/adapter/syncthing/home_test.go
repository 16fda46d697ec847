package syncthing

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestTheHomeThatADaemonNamesAtItsStart(t *testing.T) {
	starting := func(data string) string { return `{"id":1,"globalID":1,"type":"Starting","data":` + data + `}` }
	event := func(number int) string { return fmt.Sprintf(`{"id":%d,"type":"StateChanged","data":null}`, number) }
	named := starting(`{"home":"/home/x/st","myID":"ID"}`)
	for name, tc := range map[string]struct {
		newest, all string
		want        string
		once        bool // not asked for all
	}{
		"just started":           {newest: named, all: named, want: "/home/x/st"},
		"some events later":      {newest: event(500), all: named + "," + event(500), want: "/home/x/st"},
		"too many events later":  {newest: event(501), all: named, once: true},
		"no event":               {once: true},
		"forgotten in between":   {newest: event(500), all: event(2) + "," + event(1001)},
		"nothing in between":     {newest: event(500)},
		"another first event":    {newest: event(3), all: event(1) + "," + named},
		"another device":         {newest: named, all: starting(`{"home":"/home/x/st","myID":"OTHER"}`)},
		"no home":                {newest: named, all: starting(`{"myID":"ID"}`)},
		"a home that is no text": {newest: named, all: starting(`{"home":1,"myID":"ID"}`)},
		"a long home":            {newest: named, all: starting(`{"home":"` + strings.Repeat("x", 5000) + `","myID":"ID"}`)},
		"a home with a zero":     {newest: named, all: starting(`{"home":"/x\u0000","myID":"ID"}`)},
		"no data":                {newest: named, all: `{"id":1,"type":"Starting"}`},
		"much":                   {newest: named, all: named + "," + strings.Repeat(" ", homeBytes)},
		"no list":                {newest: named, all: named + "]["},
		"deep":                   {newest: named, all: strings.Repeat("[", 200)},
		"more than a daemon has": {newest: named, all: named + strings.Repeat(","+event(2), maxEvents)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, fakeOptions{})
			c := New(f.target(), Options{})
			defer c.Close()
			asked := 0
			f.handle("/rest/events", func(w http.ResponseWriter, r *http.Request) {
				asked++
				answer := tc.all
				if r.URL.Query().Get("limit") == "1" {
					answer = tc.newest
				}
				if r.URL.Query().Has("events") {
					t.Error("a mask of its own does not have the first event")
				}
				_, _ = io.WriteString(w, "["+strings.ReplaceAll(answer, `"ID"`, `"`+string(f.ID)+`"`)+"]")
			})
			got, err := c.Home(t.Context())
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
			if (asked == 1) != tc.once {
				t.Errorf("it was asked %d times", asked)
			}
		})
	}
}

func TestADaemonThatRefusesToNameItsHome(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := New(f.target(), Options{})
	defer c.Close()
	f.handle("/rest/events", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", 500) })
	_, err := c.Home(t.Context())
	wantCode(t, err, fleet.CodeUnavailable)
}
