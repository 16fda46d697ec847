package httpapi

import (
	"testing"

	"muster/internal/fleet"
)

func TestAParameterIsReadAsItIsDeclared(t *testing.T) {
	number, flag := numberParam("n", "", 1, 3), boolParam("b", "")
	choice, tags := choiceParam("c", "", "x", "y"), several[fleet.Tag]{tagNamed("")}
	for query, want := range map[string]string{
		"": "", "n=3&b=true&c=x&tag=a&tag=b": "", "b=&c=": "",
		"n=4": "query.n", "n=0": "query.n", "n=": "query.n", "b=maybe": "query.b", "c=z": "query.c",
		"tag=a&tag=": "query.tag", "n=%zz": "query",
	} {
		r := newRequest(t, "/x?"+query)
		_, err := number.of(r)
		for _, read := range []func() error{
			func() error { _, err := flag.of(r); return err },
			func() error { _, err := choice.of(r); return err },
			func() error { _, err := tags.of(r); return err },
		} {
			if err == nil {
				err = read()
			}
		}
		got := ""
		if err != nil {
			_, known := Classify(err)
			got = known.Details[0].Field
		}
		if got != want {
			t.Errorf("%q: the error is about %q, want %q", query, got, want)
		}
	}
}
