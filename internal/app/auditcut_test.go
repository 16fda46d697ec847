package app

import (
	"fmt"
	"testing"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/fleet"
	"muster/test/wait"
)

// A server that keeps its audit for a day deletes older entries by itself, and leaves a signed head of them.
func TestAServerWithKeepAuditCutsTheAudit(t *testing.T) {
	t.Parallel()
	o := optionsOf(t.TempDir(), fleet.Secret{})
	old := App{o: o, log: o.Log, life: &lifecycle{log: o.Log}}
	then, _, err := old.openDatabase(t.Context(), store.Options{
		Log: old.log, Now: func() time.Time { return time.Now().Add(-48 * time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var edit fleet.Edit
	for n := range 3 {
		edit.Put = append(edit.Put, fleet.DevicePut{Device: fleet.Device{ID: fleet.DeviceIDOf([32]byte{byte(n + 1)}),
			Label: fmt.Sprint("laptop-", n), APIKey: fleet.NewSecret("key"), APIAddress: "127.0.0.1", APIPort: 1}})
	}
	if _, err := then.ApplyEdit(fleet.WithActor(t.Context(), "anna"), edit, fleet.Basis{}); err != nil {
		t.Fatal(err)
	}
	written, err := then.Audit(t.Context(), fleet.AuditQuery{Oldest: true})
	if err != nil || len(written) < 3 {
		t.Fatalf("the audit has %d entries: %v", len(written), err)
	}
	if err := then.Close(); err != nil {
		t.Fatal(err)
	}

	o.Settings = map[fleet.SettingName]string{fleet.SettingKeepAudit: "24h"}
	a := started(t, o)
	last := written[len(written)-1].ID
	wait.Until(t, func() string {
		left, err := a.store.Audit(t.Context(), fleet.AuditQuery{Oldest: true})
		switch {
		case err != nil:
			return err.Error()
		case len(left) == 0 || left[0].ID <= last:
			return fmt.Sprintf("%d entries are left, the oldest is %+v", len(left), left[0])
		}
		return ""
	})
	cut, err := a.store.Audit(t.Context(), fleet.AuditQuery{What: "audit.cut"})
	if err != nil || len(cut) != 1 {
		t.Errorf("the audit records the cut %d times: %v", len(cut), err)
	}
	if found, err := a.store.VerifyAudit(t.Context(), nil); err != nil || len(found.Faults) > 0 {
		t.Errorf("verify finds %+v, %v", found.Faults, err)
	}
}
