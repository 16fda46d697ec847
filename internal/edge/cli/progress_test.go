package cli

import (
	"bytes"
	"testing"
)

func TestTheProgressOfShortWorkIsForTerminalsOnly(t *testing.T) {
	var errs bytes.Buffer
	p := (&environment{Streams: Streams{Err: &errs}}).terminalProgress()
	p.at(1, 2, "planning")
	p.end()
	if errs.Len() > 0 {
		t.Errorf("got %q", errs.String())
	}
}

func TestProgressIsLinesWhereThereIsNoTerminalAndNothingWhenQuiet(t *testing.T) {
	var errs bytes.Buffer
	env := &environment{Streams: Streams{Err: &errs}}
	p := env.newProgress()
	for _, text := range []string{"writing", "writing", "reading"} {
		p.at(1, 2, text)
	}
	p.end()
	if errs.String() != "writing\nreading\n" {
		t.Errorf("got %q", errs.String())
	}
	errs.Reset()
	env.quiet = true
	p = env.newProgress()
	p.at(1, 2, "writing")
	p.end()
	if errs.Len() > 0 {
		t.Errorf("got %q", errs.String())
	}
}
