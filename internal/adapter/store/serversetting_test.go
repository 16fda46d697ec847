package store

import (
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestSettingsAreKeptAndReset(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := fleet.WithActor(t.Context(), "anna")
		if err := s.PutSetting(ctx, fleet.SettingSoak, "1m", "1m", nil); err != nil {
			t.Fatal(err)
		}
		if got := s.StoredSettings().ByName[fleet.SettingSoak]; got.Value != "1m" || got.By != "anna" || got.At.IsZero() {
			t.Errorf("got %+v", got)
		}
		before := s.StoredSettings()
		refused := fleet.Invalidf("value", "not now")
		err := s.PutSetting(ctx, fleet.SettingSoak, "2m", "2m", func(now fleet.StoredSettings) error {
			if now.ByName[fleet.SettingSoak].Value != "1m" {
				t.Errorf("the check is given %+v", now)
			}
			return refused
		})
		if fleet.CodeOf(err) != fleet.CodeInvalid || s.StoredSettings().ByName[fleet.SettingSoak] !=
			before.ByName[fleet.SettingSoak] {
			t.Errorf("got %v, stored is %+v", err, s.StoredSettings())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		if got := s.StoredSettings().ByName[fleet.SettingSoak]; got != before.ByName[fleet.SettingSoak] {
			t.Errorf("after a start it is %+v, and was %+v", got, before)
		}
		for range 2 { // The second time it is gone already.
			if err := s.DeleteSetting(ctx, fleet.SettingSoak, nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.StoredSettings(); len(got.ByName) != 0 || got.Doubted {
			t.Errorf("left is %+v", got)
		}
		var told []string
		for _, e := range must(s.Audit(t.Context(), fleet.AuditQuery{Limit: 100}))(t) {
			if strings.HasPrefix(e.What, "setting.") {
				told = append(told, e.Who+" "+e.What+" "+e.Subject+" "+e.Detail)
			}
		}
		if got := strings.Join(told, "; "); got != "anna setting.reset soak ; anna setting.put soak 1m" {
			t.Errorf("the audit has %s", got)
		}
	})
}

// An attacker who can write to the database, and has no key, tries to remove the approval that rollouts need.
func TestAForgedSettingLowersNoGuard(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.keep("settings")
		for what, change := range map[string]string{
			"another value": `UPDATE settings SET value = (SELECT value FROM settings WHERE name = 'soak')
				WHERE name = 'approvalThreshold'`,
			"another author": `UPDATE settings SET set_by = 'other' WHERE name = 'approvalThreshold'`,
			"another name":   `UPDATE settings SET name = 'x' WHERE name = 'approvalThreshold'`,
			"none":           `DELETE FROM settings WHERE name = 'approvalThreshold'`,
		} {
			m.meddle(func() { m.exec(change) }, func() {
				m.restart(options)
				stored := m.StoredSettings()
				for _, setting := range fleet.Settings() {
					if setting.Name != fleet.SettingApproval {
						continue
					}
					state := setting.InForce(nil, stored)
					if state.Source != fleet.SettingByGuard || !state.Threshold().Exceeded(2, 1000) {
						t.Errorf("%s: %s holds by %s", what, state.Value, state.Source)
					}
				}
				if told := m.Tampering(); told == nil || !strings.Contains(told.Reason, "setting") {
					t.Errorf("%s: told is %+v", what, told)
				}
			})
		}
	})
}

// Two changes that were both made for the value that was shown, and that went into one transaction, both succeeded.
func TestChangesOfASettingInOneBatchAreCheckedOneAfterTheOther(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		if err := s.PutSetting(t.Context(), fleet.SettingSoak, "1m", "1m", nil); err != nil {
			t.Fatal(err)
		}
		refused := fleet.Invalidf("value", "it was changed meanwhile")
		asShown := func(now fleet.StoredSettings) error {
			if now.ByName[fleet.SettingSoak].Value != "1m" {
				return refused
			}
			return nil
		}
		release := hold(t, s)
		defer release()
		answers := make(chan error, 3)
		go func() { answers <- s.PutSetting(t.Context(), fleet.SettingSoak, "2m", "2m", asShown) }()
		waitQueued(t, s, 1)
		go func() { answers <- s.PutSetting(t.Context(), fleet.SettingSoak, "3m", "3m", asShown) }()
		go func() { answers <- s.DeleteSetting(t.Context(), fleet.SettingSoak, asShown) }()
		waitQueued(t, s, 3)
		release()
		var codes []fleet.Code
		for range 3 {
			if err := <-answers; err != nil {
				codes = append(codes, fleet.CodeOf(err))
			}
		}
		if !slices.Equal(codes, []fleet.Code{fleet.CodeInvalid, fleet.CodeInvalid}) {
			t.Errorf("refused were %v", codes)
		}
		if got := s.StoredSettings().ByName[fleet.SettingSoak].Value; got != "2m" {
			t.Errorf("stored is %s", got)
		}
	})
}
