package store

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// Rows that were put back as they were earlier, with their marks of that time, had their full power again once the
// table was accepted: a used consent went out a second time without a person.
func TestAnAcceptedTableGivesRowsThatWerePutBackNoPower(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		ctx := fleet.WithRole(fleet.WithActor(t.Context(), "admin"), fleet.RoleAdmin)
		m.keep("consents", "templates", "folder_roots", "author_keys")
		if err := m.CloseConsents(ctx, []int64{must(m.OpenConsents(ctx))(t)[0].ID}, 8); err != nil {
			t.Fatal(err)
		}
		v := must(m.Registry(ctx))(t).Templates[0].Template
		v.Text, v.SavedBy, v.SavedRole = "true\n", "author", fleet.RoleAuthor
		must(m.PutTemplate(fleet.WithRole(ctx, fleet.RoleAuthor), v, nil))(t)
		must(m.PutFolderRoots(ctx, "lab", nil, nil))(t)
		must(m.PutAuthorKeys(ctx, "lab", nil, nil))(t)
		m.meddle(func() {}, func() {}) // puts the earlier rows back
		m.exec(`DELETE FROM generations WHERE number = 2`)
		m.restart(options)
		accepted := strings.Join(must(m.AcceptLoss(ctx, 1, m.accept.now()))(t), "; ")
		for _, table := range append(m.kept, "generations") {
			if !strings.Contains(accepted, "no row of the table "+table+" keeps its power") {
				t.Errorf("of %s accepted is %s", table, accepted)
			}
		}
		if left := must(m.OpenConsents(ctx))(t); len(left) > 0 {
			t.Errorf("consents count: %+v", left)
		}
		r := must(m.Registry(ctx))(t)
		for _, v := range r.Templates {
			if v.SavedByAdmin() {
				t.Errorf("template %q counts as saved by %q", v.Label, v.SavedRole)
			}
		}
		if len(r.Roots) > 0 || len(r.AuthorKeys) > 0 {
			t.Errorf("accepted are the roots %v and the author keys %v", r.Roots, r.AuthorKeys)
		}
		var made int
		err := m.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM generations WHERE made_role <> ''`).Scan(&made)
		if err != nil || made > 0 {
			t.Errorf("%d generations say which role made them, %v", made, err)
		}
		m.wantIntact()
		m.restart(options)
		if !strings.Contains(accepted, mayMissRows) {
			t.Errorf("accepted is %s", accepted)
		}
		m.wantResumed("after a start")
	})
}

// A rollout that was put back as it was when somebody had approved it went on, once the table was accepted.
func TestAnAcceptedRolloutIsPausedAndNotApproved(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, putBack := range map[string]bool{"put back": true, "changed": false} {
			m := newMeddledCopy(t, options)
			approved := must(m.OpenRollouts(t.Context()))(t)[0]
			approved.Status = fleet.RolloutRunning
			approved.Approval = &fleet.Approval{Reason: "many devices", By: "admin", At: seenAt}
			must(m.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{approved}}))(t)
			if putBack {
				m.keep("rollouts")
				over := approved
				over.Status = fleet.RolloutUndone
				must(m.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{over}}))(t)
				m.meddle(func() {}, func() {}) // puts the earlier rows back
			} else {
				m.exec(`UPDATE rollouts SET created_at = created_at + 1`)
			}
			m.restart(m.options)
			must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
			m.wantIntact()
			m.restart(m.options)
			r := must(m.Rollout(t.Context(), approved.ID))(t)
			if r.Status != fleet.RolloutPaused || !r.Unapproved() {
				t.Errorf("%s: the rollout is %s, approved %+v", what, r.Status, r.Approval)
			}
		}
	})
}

// After the second start a loss of several entries was told as the last one of them.
func TestALossKeepsItsFirstEntryOverStarts(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m, lost := putBackWhole(t, options)
		first := *m.loss.now()
		if first.From >= first.To || first.To != lost {
			t.Fatalf("lost are %d to %d, want several up to %d", first.From, first.To, lost)
		}
		for range 2 {
			m.restart(options)
			if loss := m.loss.now(); loss == nil || *loss != first {
				t.Errorf("after another start the loss is %v, want %v", loss, first)
			}
		}
	})
}

// Where old entries of the audit were deleted, some lost revocations were named, and nobody was told that there may be
// others.
func TestAcceptLossTellsSinceWhenItKnowsRevocations(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options = withEndFile(t, options)
		options.Now = clock.now
		m := newMeddled(t, options)
		old, young := deviceN(70).ID, deviceN(71).ID
		revoke(t, m.Store, fleet.Revocation{Device: old})
		clock.move(48 * time.Hour)
		revoke(t, m.Store, fleet.Revocation{Device: young})
		if must(m.CutAudit(t.Context(), 24*time.Hour))(t) == 0 {
			t.Fatal("nothing was cut")
		}
		m.exec(`DELETE FROM revocations WHERE device_id IN ($1, $2)`, string(old), string(young))
		m.restart(options)
		all := m.entries()
		accepted := strings.Join(must(m.AcceptLoss(t.Context(), all[len(all)-1].ID, m.accept.now()))(t), "; ")
		for _, want := range []string{"muster device revoke " + string(young),
			"the audit begins on " + clock.now().UTC().Format(time.DateOnly)} {
			if !strings.Contains(accepted, want) {
				t.Errorf("accepted is %s, want %s", accepted, want)
			}
		}
	})
}

// On PostgreSQL a row that another program wrote while a loss was being accepted got a mark with its full power.
func TestNobodyWritesToTablesThatAreBeingAccepted(t *testing.T) {
	t.Parallel()
	m := newMeddled(t, Options{DSN: preparedDSN(t), Seal: key(t, 1)})
	m.exec(`SET lock_timeout = '100ms'`)
	insert := func() error {
		_, err := m.db.ExecContext(t.Context(), `INSERT INTO folder_roots (tag, path) VALUES ('lab', '/')`)
		return err
	}
	must(write(t.Context(), m.Store, "freeze", func(tx *tx) (none struct{}, err error) {
		if err := tx.freezeMarked(); err != nil {
			return none, err
		}
		if insert() == nil {
			t.Error("a row was written")
		}
		return none, nil
	}))(t)
	if err := insert(); err != nil {
		t.Errorf("after the commit: %v", err)
	}
}

// An older value of a setting, or a setting that was renamed, counted once the loss was accepted.
func TestAnAcceptedSettingIsTheStrictOne(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, forge := range map[string]string{
			"an older value": `UPDATE settings SET value = (SELECT value FROM was_settings WHERE name = 'fourEyes')
				WHERE name = 'fourEyes'`,
			"another name": `UPDATE settings SET name = 'x' WHERE name = 'fourEyes'`,
			"an older row": `UPDATE settings SET (value, set_at, mark) = (SELECT value, set_at, mark FROM was_settings
				WHERE name = 'fourEyes') WHERE name = 'fourEyes'`,
			"none": `DELETE FROM settings`,
		} {
			m := newMeddledCopy(t, options)
			for _, value := range []string{"false", "true"} {
				if err := m.PutSetting(t.Context(), fleet.SettingFourEyes, value, value, nil); err != nil {
					t.Fatal(err)
				}
				if value == "false" {
					m.exec(`CREATE TABLE was_settings AS SELECT * FROM settings`)
				}
			}
			m.exec(forge)
			m.restart(m.options)
			accepted := strings.Join(must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t), "; ")
			for _, want := range []string{"approvalThreshold 1", "fourEyes true", "--four-eyes=false"} {
				if !strings.Contains(accepted, want) {
					t.Errorf("%s: accepted is %s, want %s", what, accepted, want)
				}
			}
			for range 2 {
				stored := m.StoredSettings()
				for _, setting := range guardedSettings() {
					state := setting.InForce(nil, stored)
					if state.Source != fleet.SettingStored || state.Value != setting.Guarded {
						t.Errorf("%s: %s is %s by %s, want %s", what, setting.Name, state.Value, state.Source, setting.Guarded)
					}
				}
				m.wantIntact()
				m.restart(m.options)
			}
		}
	})
}

// A tag that was protected, and that another program renamed, lost its protection once that was accepted.
func TestAcceptingADoubtAboutProtectedTagsProtectsEachUsedTag(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for _, forge := range []string{`UPDATE protected_tags SET tag = 'other' WHERE tag = 'lab'`,
			`INSERT INTO protected_tags (tag) VALUES ('other')`} {
			m := newMeddledCopy(t, options)
			m.edit(fleet.Edit{Tag: taggingOf("used")})
			m.exec(forge)
			m.restart(m.options)
			accepted := strings.Join(must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t), "; ")
			if !strings.Contains(accepted, protectsUsedTags) {
				t.Errorf("%s: accepted is %s", forge, accepted)
			}
			for range 2 {
				protected := must(m.Registry(t.Context()))(t).Protected
				if !protected["lab"] || !protected["office"] || !protected["used"] {
					t.Errorf("%s: protected are %v", forge, protected)
				}
				m.wantIntact()
				m.restart(m.options)
			}
		}
	})
}
