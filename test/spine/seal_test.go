package spine_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// A rotation of the seal key that is cut short at any step goes on with the next start, and nothing is lost.
func TestARotationThatIsKilledGoesOnWithTheNextStart(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"seal.kept", "seal.replaced", "seal.some", "seal.all", "seal.dropped"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := server.Start(t, server.Options{Mode: fleet.ModeObserve, KillAt: step})
			for n := range 40 {
				s.Template("set", "options.natEnabled", fmt.Sprint(n%2 == 0), "all")
				id := string(fleet.DeviceIDOf([32]byte{byte(n), 1}))
				key, label, address := fmt.Sprintf("key-%d", n), fmt.Sprint(n), "127.0.0.1"
				put := api.PutDevice{APIKey: &key, Label: &label, APIAddress: &address, APIPort: new(int64(1))}
				if _, _, err := s.Client.PutDevice(t.Context(), id, put); err != nil {
					t.Fatal(err)
				}
			}
			old := firstKey(t, s)
			_, err := s.Client.RotateSeal(t.Context()) // killed before the answer, or after it
			s.WaitEnd()
			again := server.Start(t, server.Options{Home: s.Home, Mode: fleet.ModeObserve})
			wait.Until(t, func() string {
				now, err := again.Client.Seal(t.Context())
				if err != nil {
					return err.Error()
				}
				if len(now.Older) > 0 || now.Key == old {
					return fmt.Sprintf("%+v", now)
				}
				return ""
			})
			if key := firstKey(t, again); key == old {
				t.Errorf("the file still has the old key; the rotation answered %v", err)
			}
			for n := range 40 {
				device, err := again.Client.Device(t.Context(), string(fleet.DeviceIDOf([32]byte{byte(n), 1})))
				if err != nil || device.APIKey != fmt.Sprintf("key-%d", n) {
					t.Fatalf("device %d: %+v, %v", n, device, err)
				}
			}
			wantNowhere(t, again.Home, old)
		})
	}
}

// firstKey is the ID of the key that the file in the home begins with.
func firstKey(t *testing.T, s *server.Server) string {
	t.Helper()
	now, err := s.Client.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return now.Key
}

// wantNowhere checks that no database file of a home holds anything that a key sealed.
func wantNowhere(t *testing.T, home, keyID string) {
	t.Helper()
	id, err := hex.DecodeString(keyID)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(home, "muster.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, id) {
			t.Errorf("%s still holds what the old key sealed", filepath.Base(file))
		}
	}
	if keys, err := os.ReadFile(filepath.Join(home, "seal.key")); err != nil || len(strings.Fields(string(keys))) != 1 {
		t.Errorf("%d keys are left in the file, %v", len(strings.Fields(string(keys))), err)
	}
}
