package fleet

import "testing"

func TestBytesAreReadable(t *testing.T) {
	for n, want := range map[int64]string{-4: "0 B", 0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536 << 20: "1.5 GiB",
		1<<63 - 1: "8.0 EiB"} {
		if got := ByteText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
