package tunnel

import (
	"strings"
	"testing"
)

func TestAHelloHasAPinOrNone(t *testing.T) {
	pin := "sha256:" + strings.Repeat("ab", 32)
	wrong := []string{"x", pin + "cd", strings.ToUpper(pin), " " + pin, pin[:len(pin)-1], strings.Repeat(pin, 99)}
	for _, text := range wrong {
		if got := (Hello{Pin: text}).bounded().Pin; got != "" {
			t.Errorf("%.90q became %q", text, got)
		}
	}
	if got := (Hello{Pin: pin}).bounded().Pin; got != pin {
		t.Errorf("got %q", got)
	}
}
