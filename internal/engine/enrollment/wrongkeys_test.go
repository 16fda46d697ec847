package enrollment

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func TestWrongKeysOfOneAddressAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		e := newEnrollments(k)
		right, _, err := e.CreateKey(t.Context(), fleet.EnrollKey{Uses: 1, ExpiresAt: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		try := func(text, address string) fleet.Code {
			_, err := e.RecogniseFrom(t.Context(), text, address)
			return fleet.CodeOf(err)
		}
		wrong := func(n int) string { return fmt.Sprintf("%s%052d", fleet.EnrollKeyPrefix, n) }
		for range 10 * wrongKeysOfAddress { // machines with a key that was revoked, and with one that is right
			if code := try(wrong(0), "192.0.2.1"); code != fleet.CodeForbidden {
				t.Fatalf("the same wrong key again: %v", code)
			}
			if code := try(right, "192.0.2.1"); code != "" {
				t.Fatalf("a right key: %v", code)
			}
		}
		for n := range wrongKeysOfAddress - 1 {
			if code := try(wrong(n+1), "::ffff:192.0.2.1"); code != fleet.CodeForbidden {
				t.Fatalf("guess %d: %v", n, code)
			}
		}
		_, refused := e.RecogniseFrom(t.Context(), right, "192.0.2.1")
		told, ok := refused.(*fleet.Error)
		if !ok || told.Code != fleet.CodeTooMany || told.RetryAfter != time.Second || told.Hint == "" {
			t.Errorf("after %d guesses: %+v", wrongKeysOfAddress, refused)
		}
		if code := try(right, "192.0.2.2"); code != "" {
			t.Errorf("from another address: %v", code)
		}
		time.Sleep(wrongKeysOfAddressEach)
		if code := try(right, "192.0.2.1"); code != "" {
			t.Errorf("after a while: %v", code)
		}
	})
}

func TestWrongKeysTakeBoundedMemory(t *testing.T) {
	g := newWrongKeys()
	for n := range 3 * maxWrongKeys {
		g.count("192.0.2.1", fmt.Sprint(n))
	}
	if len(g.wrong) > maxWrongKeys {
		t.Errorf("%d are remembered", len(g.wrong))
	}
}
