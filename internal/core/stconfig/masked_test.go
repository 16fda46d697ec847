package stconfig_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
)

func TestMaskToSaysWhatMaskSays(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"version":52,"gui":{"apiKey":"k","password":"","user":"u","APIKEY":"x","newToken":["a",{"b":"c"}],"theme":null}}`,
		`{"folders":[{"id":"a","devices":[{"deviceID":"x","encryptionPassword":"p"},"odd"],"label":"ü\"\n"}]}`,
		`{"folders":"secret","password":{"x":"y"},"devices":[[{"apiKey":1.50e3}]],"apiKey":["a",["b"]]}`,
		`{"folders":[{"versioning":{"params":{"password":"in a free map","n":"1"}}}],"ldap":{"bindPassword":"x"}}`,
		`{"a":1,"a":2,"gui":"x","gui":{"apiKey":"k"}}`, `["password"]`, `"x"`, `null`,
	} {
		doc, err := stconfig.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := stconfig.MaskTo(&got, iotest{strings.NewReader(text)}); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		back, err := stconfig.Parse(got.Bytes())
		if want := stconfig.Mask(doc); err != nil || string(back.JSON()) != string(want.JSON()) {
			t.Errorf("%s became\n%s, want\n%s, %v", text, &got, want.JSON(), err)
		}
	}
	for _, text := range []string{``, `{`, `{"a"`, `{"a":}`, `[1`, `[1}`} {
		if err := stconfig.MaskTo(io.Discard, strings.NewReader(text)); err == nil {
			t.Errorf("%q is copied", text)
		}
	}
	full := errors.New("full")
	if err := stconfig.MaskTo(failing{full}, strings.NewReader(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`)); !errors.Is(err,
		full) {
		t.Errorf("got %v", err)
	}
}

// iotest reads a few bytes at a time.
type iotest struct{ io.Reader }

func (r iotest) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 7)]) }

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
