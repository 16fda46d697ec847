package sandbox

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
)

func someValue(t testing.TB) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse(
		[]byte(`{"a":[1,-0,1e400,"",null,true,false,{"b":{}},[]],"ü":"😀","deep":[[[[[{"x":[[]]}]]]]]}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	return v.With("secret", stconfig.SecretHandle("secret:wifi"))
}

func TestCodecRoundTrip(t *testing.T) {
	want := someValue(t)
	r := &reader{left: string(appendValue(nil, want)), values: 100}
	got, err := r.value(0)
	if err != nil || r.left != "" || !got.Equal(want) || got.Get("a").At(2).Str() != "1e400" ||
		got.Get("secret").Kind() != stconfig.Handle {
		t.Errorf("got %s, %v, %d bytes left", got.JSON(), err, len(r.left))
	}
}

// What a worker sends may be anything; decoding it ends, and takes no more memory than the limits allow.
func FuzzDecodeResult(f *testing.F) {
	f.Add(appendResult(nil, template.Result{Value: someValue(f), Output: []string{"a", ""}, Steps: 1 << 40}))
	f.Add([]byte{0, 0, tagList, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte(strings.Repeat("[\x01", 300)))
	f.Fuzz(func(t *testing.T, body []byte) {
		limits := template.Limits{Values: 50, OutputBytes: 50}
		result, err := decodeResult(string(body), program{Language: template.HJSON}, limits,
			func(int64) error { return nil })
		if err != nil {
			return
		}
		if n := count(result.Value); n > limits.Values+1 {
			t.Fatalf("%d values", n)
		}
		again, err := decodeResult(string(appendResult(nil, result)), program{Language: template.HJSON}, limits,
			func(int64) error { return nil })
		if err != nil || !bytes.Equal(again.Value.JSON(), result.Value.JSON()) {
			t.Fatalf("got %s, %v, want %s", again.Value.JSON(), err, result.Value.JSON())
		}
	})
}

func count(v stconfig.Value) int {
	n := 1
	for i := range v.Len() {
		n += count(v.At(i))
	}
	return n
}

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	for _, body := range []string{"", "hello"} {
		if err := writeFrame(&b, kindResult, []byte(body)); err != nil {
			t.Fatal(err)
		}
		k, got, err := readFrame(bufio.NewReader(&b), 5)
		if err != nil || k != kindResult || got != body {
			t.Errorf("got %q %q, %v", k, got, err)
		}
	}
	if err := writeFrame(&b, kindResult, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readFrame(bufio.NewReader(&b), 5); err == nil {
		t.Error("a frame that is too large was taken")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache[int, string](100)
	for i := range 50 {
		c.put(i, "x", 10)
		c.get(0)
	}
	if _, ok := c.get(0); !ok || len(c.items) != 10 || c.used != 100 {
		t.Errorf("%d items of %d bytes; the one in use is kept: %t", len(c.items), c.used, ok)
	}
	c.put(0, "too large", 51)
	if _, ok := c.get(0); ok || c.used != 90 {
		t.Errorf("a value that is too large was kept, or its forerunner; %d bytes used", c.used)
	}
}
