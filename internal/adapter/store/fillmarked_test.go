package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
)

// fillMarked puts two rows or more into each marked table.
func fillMarked(ctx context.Context, t *testing.T, s *Store) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, tag := range []fleet.Tag{"office", "lab"} {
		d := put(t, s, deviceN(n+1))
		must(s.TagDevice(ctx, d.ID, tag, nil))(t)
		must(s.PutDeviceSettings(ctx, d.ID, fleet.DeviceSettings{Mode: fleet.ModeOn, Restart: n == 1}, nil))(t)
		v := must(s.CreateTemplate(ctx, fleet.Template{Label: fmt.Sprint("template ", n), Op: fleet.OpSet,
			Key: "options.natEnabled", Text: "false\n", SavedBy: "admin", SavedRole: fleet.RoleAdmin}))(t)
		must(s.TagTemplate(ctx, v.ID, tag, nil))(t)
		for _, of := range []fleet.VarsOwner{{Device: d.ID}, {Tag: tag}} {
			must(s.PutVars(ctx, of, fleet.Vars(fmt.Sprintf(`{"x":%d}`, n)), nil))(t)
		}
		ok(s.ProtectTag(ctx, tag, true))
		ok(stored(s, s.PutTagMode(ctx, tag+"-quiet", fleet.ModePaused)))
		must(s.PutFolderRoots(ctx, tag, []string{"~/Sync", "~/Work"}, nil))(t)
		must(s.PutAuthorKeys(ctx, tag, []string{"options.maxSendKbps"}, nil))(t)
		ok(s.putSourceNamed(ctx, fmt.Sprint("source ", n), v.ID))
	}
	for n := range 2 {
		must(s.ApplyEdit(ctx, fleet.Edit{Revoke: []fleet.Revocation{{Device: deviceN(60 + n).ID}}}, fleet.Basis{}))(t)
		revoked := deviceN(60 + n).ID
		putProofs(t, s, revoked, proofOf(revoked, deviceN(n+1).ID, time.Now()))
	}
	ok(s.PutSetting(ctx, fleet.SettingApproval, "10%", "10%", nil))
	ok(s.PutSetting(ctx, fleet.SettingSoak, "1m", "1m", nil))
	for _, name := range []string{"siem", "archive"} {
		_, _, err := s.PutSink(ctx, fleet.Sink{Name: name, Kind: fleet.SinkHTTP, Address: "https://siem.example/in",
			Streams: []fleet.SinkStream{fleet.StreamSync}})
		ok(err)
	}
	ok(stored(s, s.PutFleetMode(ctx, fleet.ModePaused)))
	ok(stored(s, s.PutFleetMode(ctx, fleet.ModeOn)))
	ok(s.SwitchSignOn(ctx, true, "test"))
	for n := range 2 {
		id := deviceN(n + 1).ID
		observation := fullObservation(id, fmt.Sprint("configuration ", n))
		observation.Config.Paths = []string{"~/Sync/music", "~/Sync/photos"}
		observe(t, s, observation)
		ok(s.PutBaseEntries(ctx, id, []fleet.BaseEntry{fullBase(fmt.Sprint("options.", n)), {Key: "folders.music",
			Kind: fleet.BaseMade, Written: []byte("{}"), Templates: []int64{1}}}))
		must(s.BeginIntent(ctx, fleet.Intent{Device: id, Generation: 3, Writes: []byte("writes")},
			must(s.BaseEntries(ctx, id))(t)))(t)
		rollout, g := groupOf(t, s, id)
		must(s.PutRollouts(ctx, fleet.RolloutWrite{Hold: []fleet.Hold{{Device: id, Generation: 1, Rollout: rollout.ID}}}))(t)
		g.Now = []fleet.Consent{consentOf(g, id, "folders.a")}
		must(s.PutGroupConsents(ctx, []fleet.GroupConsent{g}))(t)
		alone := consentOf(g, id, "folders.alone")
		alone.Group = 0
		must(s.PutConsents(ctx, []fleet.Consent{alone}))(t)
	}
	all := must(s.OpenConsents(ctx))(t)
	ok(s.CloseConsents(ctx, []int64{all[0].ID}, 7))
	ok(s.PutConsentTimes(ctx, all[1:]))
}

func (s *Store) putSourceNamed(ctx context.Context, name string, template int64) error {
	_, err := write(ctx, s, "put source", func(t *tx) (none struct{}, err error) {
		return none, errors.Join(t.putSource(name, fleet.Source{ReadOnly: false}),
			t.putOrigins(map[int64]fleet.Origin{template: {Source: name, Name: "file"}}))
	})
	return err
}
