package store

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestAConsentIsKeptUntilItIsUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d := put(t, s, deviceN(1))
		at := time.UnixMilli(1_700_000_000_000).UTC()
		give := func(key string, answer fleet.Answer) fleet.Consent {
			return fleet.Consent{Device: d.ID, Key: key, Answer: answer, Change: "digest", By: "nora", At: at,
				Until: at.Add(24 * time.Hour)}
		}
		given := must(s.PutConsents(t.Context(), []fleet.Consent{
			give("folders.a", fleet.AnswerConsent), give("folders.b", fleet.AnswerConsent),
			give("folders.c", fleet.AnswerKeep)}))(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		s = open(t, options)
		if got := must(s.OpenConsents(t.Context()))(t); !reflect.DeepEqual(got, given) {
			t.Errorf("got %+v, want %+v", got, given)
		}
		given[1].Until, given[1].UnreachableSince = at.Add(30*time.Hour), at.Add(time.Hour)
		if err := s.PutConsentTimes(t.Context(), given[1:2]); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseConsents(t.Context(), []int64{given[0].ID}, 7); err != nil {
			t.Fatal(err)
		}
		if got := must(s.OpenConsents(t.Context()))(t); !reflect.DeepEqual(got, given[1:]) {
			t.Errorf("got %+v, want %+v", got, given[1:])
		}
		if got := must(s.OpenConsentsOf(t.Context(), d.ID))(t); !reflect.DeepEqual(got, given[1:]) {
			t.Errorf("got %+v of the device, want %+v", got, given[1:])
		}
		if got := must(s.OpenConsentsOf(t.Context(), deviceN(2).ID))(t); len(got) != 0 {
			t.Errorf("got %+v of another device", got)
		}
		if err := s.EndConsents(t.Context(), []int64{given[0].ID}); err != nil { // it stays the intent's
			t.Fatal(err)
		}
		var intent int64
		if err := s.reads.QueryRowContext(t.Context(), `SELECT intent_id FROM consents WHERE id = $1`,
			given[0].ID).Scan(&intent); err != nil || intent != 7 {
			t.Errorf("used by intent %d, %v", intent, err)
		}
		for _, by := range []struct{ intent, open int64 }{{6, 2}, {7, 3}} { // only the intent that used it gives it back
			if err := s.ReopenConsents(t.Context(), []int64{given[0].ID}, by.intent); err != nil {
				t.Fatal(err)
			}
			if got := must(s.OpenConsents(t.Context()))(t); int64(len(got)) != by.open {
				t.Errorf("after intent %d gave it back: %+v", by.intent, got)
			}
		}
		_, err := s.PutConsents(t.Context(), []fleet.Consent{give("folders.d", fleet.AnswerConsent),
			give(strings.Repeat("x", maxBaseKeyBytes+1), fleet.AnswerConsent)})
		wantCode(t, err, fleet.CodeInvalid)
		if err := s.DeleteDevice(t.Context(), d.ID, nil); err != nil {
			t.Fatal(err)
		}
		if got := must(s.OpenConsents(t.Context()))(t); len(got) != 0 {
			t.Errorf("got %+v of a device that was deleted, or half of what failed", got)
		}
	})
}
