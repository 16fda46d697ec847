//muster:test -rapid.checks=20
//muster:test -race=false -rapid.checks=1000
//muster:soak
//muster:soak -race=false -rapid.checks=10000
package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

func newKey(t *testing.T, fill byte) *Key {
	t.Helper()
	key, err := New(bytes.Repeat([]byte{fill}, KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestWhatIsSealedOpensInItsPlaceOnly(t *testing.T) {
	key := newKey(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SliceOfN(rapid.StringMatching(`[a-c.]{0,3}`), 3, 3)
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		at, other := place.Draw(t, "at"), place.Draw(t, "other")
		sealed := key.Seal(at[0], at[1], at[2], plain)
		if len(plain) > 8 && bytes.Contains(sealed, plain) {
			t.Fatal("the plain text is in what was sealed")
		}
		got, err := key.Open(at[0], at[1], at[2], sealed)
		if err != nil || got == nil || !bytes.Equal(got, plain) {
			t.Fatalf("got %q, %v; want %q", got, err, plain)
		}
		same := at[0] == other[0] && at[1] == other[1] && at[2] == other[2]
		if _, err := key.Open(other[0], other[1], other[2], sealed); (err == nil) != same {
			t.Fatalf("sealed at %q, opened at %q: %v", at, other, err)
		}
	})
}

func TestSealingTwiceDiffers(t *testing.T) {
	key := newKey(t, 1)
	if bytes.Equal(key.Seal("t", "r", "c", []byte("x")), key.Seal("t", "r", "c", []byte("x"))) {
		t.Fatal("the same nonce twice")
	}
}

func TestOpenRefuses(t *testing.T) {
	sealed := newKey(t, 1).Seal("devices", "A", "api_key", []byte("secret"))
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, test := range map[string]struct {
		key    *Key
		sealed []byte
		code   fleet.Code
	}{
		"another key":   {newKey(t, 2), sealed, fleet.CodeConflict},
		"a changed bit": {newKey(t, 1), flipped, fleet.CodeInternal},
		"a short value": {newKey(t, 1), sealed[:5], fleet.CodeInternal},
		"nothing":       {newKey(t, 1), nil, fleet.CodeInternal},
		"plain text":    {newKey(t, 1), []byte(strings.Repeat("plain text ", 9)), fleet.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.key.Open("devices", "A", "api_key", test.sealed)
			if fleet.CodeOf(err) != test.code || got != nil {
				t.Fatalf("got %q, %v; want code %s", got, err, test.code)
			}
		})
	}
}

func TestParseTakesHexAndBase64(t *testing.T) {
	raw := bytes.Repeat([]byte{7}, KeyBytes)
	want := newKey(t, 7).ID()
	for _, text := range []string{
		strings.Repeat("07", KeyBytes) + "\n", base64.StdEncoding.EncodeToString(raw),
		base64.RawURLEncoding.EncodeToString(raw),
	} {
		if key, err := Parse(text); err != nil || key.ID() != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
	for _, text := range []string{"", "07", strings.Repeat("07", 31), strings.Repeat("zz", 32)} {
		if _, err := Parse(text); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: got %v, want an invalid error", text, err)
		}
	}
}

func TestMakeMakesTheKeyOnceAndKeepsIt(t *testing.T) {
	home := t.TempDir()
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			key, err := Make(home)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = key.ID()
		})
	}
	all.Wait()
	again, err := FromHome(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id != again.ID() {
			t.Fatalf("two starts at once made two keys: %v", ids)
		}
	}
	info, err := os.Stat(filepath.Join(home, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v; want a file with mode 0600", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, FileName+".*")); len(left) != 0 {
		t.Fatalf("temporary files are left: %v", left)
	}
}

func TestFromHomeRefusesADamagedKeyAndLeavesIt(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, FileName)
	if err := os.WriteFile(path, []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FromHome(home); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Fatalf("got %v, want a conflict", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "half a k" {
		t.Fatalf("the damaged file was replaced by %q", text)
	}
}

func TestMakeSaysWhatToDoAboutAHomeThatCannotBeWritten(t *testing.T) {
	_, err := Make(filepath.Join(t.TempDir(), "absent"))
	var e *fleet.Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
}

// A missing key was made anew, whatever the database was sealed with.
func TestFromHomeMakesNothing(t *testing.T) {
	home := t.TempDir()
	if _, err := FromHome(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("the home has %v", entries)
	}
}
