package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func proofOf(revoked, device fleet.DeviceID, at time.Time) fleet.RevocationProof {
	return fleet.RevocationProof{Revoked: revoked, Device: device, ConfigAt: at, ConnectionsAt: at.Add(time.Second),
		Digest: strings.Repeat("ab", 32)}
}

// putProofs returns the devices of the proofs that were stored.
func putProofs(t *testing.T, s *Store, revoked fleet.DeviceID, proofs ...fleet.RevocationProof) (of []fleet.DeviceID) {
	t.Helper()
	for _, p := range must(s.PutRevocationProofs(t.Context(), revoked, proofs))(t) {
		of = append(of, p.Device)
	}
	return of
}

// acts are what the audit says was done, oldest first.
func acts(t *testing.T, s *Store, subject fleet.DeviceID) (all []string) {
	t.Helper()
	for _, e := range must(s.Audit(t.Context(), fleet.AuditQuery{Subject: string(subject), Oldest: true}))(t) {
		if strings.HasPrefix(e.What, "revocation.") {
			all = append(all, e.What)
		}
	}
	return all
}

// TestProofsOfARevocationAreKeptAndRecorded: the audit says when the last daemon was proven, once.
func TestProofsOfARevocationAreKeptAndRecorded(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		lost, home, desk, other := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID, put(t, s, deviceN(3)).ID,
			put(t, s, deviceN(4)).ID
		revoke(t, s, fleet.Revocation{Device: lost, Label: "laptop"})
		revoke(t, s, fleet.Revocation{Device: other})
		at := must(s.Registry(t.Context()))(t).Revocations[lost].At
		stored := putProofs(t, s, lost, proofOf(lost, desk, at.Add(-time.Minute)),
			proofOf(lost, desk, at.Add(-time.Hour)).Returned(at.Add(-time.Minute)),
			proofOf(lost, deviceN(9).ID, at.Add(time.Minute)), proofOf(lost, home, at.Add(time.Minute)))
		all := must(s.RevocationProofs(t.Context(), lost))(t)
		if len(all) != 1 || !slices.Equal(stored, []fleet.DeviceID{home}) {
			t.Errorf("a proof is older than the revocation, or about no device: %v, %+v", stored, all)
		}
		want := []string{"revocation.proven"}
		if got := acts(t, s, lost); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		putProofs(t, s, lost, proofOf(lost, desk, at.Add(2*time.Minute)))
		want = append(want, "revocation.proven", "revocation.complete")
		if got := acts(t, s, lost); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		returned := proofOf(lost, desk, at).Returned(at.Add(3 * time.Minute))
		putProofs(t, s, lost, returned)
		again := proofOf(lost, desk, at.Add(4*time.Minute))
		again.Returns, again.ReturnedAt = returned.Returns, returned.ReturnedAt
		putProofs(t, s, lost, again)
		want = append(want, "revocation.returned", "revocation.proven", "revocation.complete")
		if got := acts(t, s, lost); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		all = must(s.RevocationProofs(t.Context(), lost))(t)
		at2 := slices.IndexFunc(all, func(p fleet.RevocationProof) bool { return p.Device == desk })
		if len(all) != 2 || at2 < 0 || all[at2] != again {
			t.Errorf("got %+v, want %+v", all, again)
		}
		if report := must(s.VerifyAudit(t.Context(), nil))(t); len(report.Faults)+len(report.Rows) > 0 {
			t.Errorf("the audit finds %+v", report)
		}
		// The rows go with the device and with the revocation, and neither is missed.
		must(s.ApplyEdit(t.Context(), fleet.Edit{Remove: []fleet.DeviceID{desk}}, fleet.Basis{}))(t)
		must(s.ApplyEdit(t.Context(), fleet.Edit{Readmit: []fleet.DeviceID{lost}}, fleet.Basis{}))(t)
		if all := must(s.RevocationProofs(t.Context(), lost))(t); len(all) > 0 {
			t.Errorf("got %+v", all)
		}
		stored = putProofs(t, s, lost, proofOf(lost, home, at.Add(time.Hour))) // the revocation is over
		if all := must(s.RevocationProofs(t.Context(), lost))(t); len(all)+len(stored) > 0 {
			t.Errorf("stored for %v, got %+v", stored, all)
		}
		if report := must(s.VerifyAudit(t.Context(), nil))(t); len(report.Faults)+len(report.Rows) > 0 {
			t.Errorf("the audit finds %+v", report)
		}
	})
}

// TestAForgedProofProvesNothing: a program that writes to the database cannot say that a stolen device is gone.
func TestAForgedProofProvesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		lost, home, desk := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID, put(t, s, deviceN(3)).ID
		revoke(t, s, fleet.Revocation{Device: lost})
		at := must(s.Registry(t.Context()))(t).Revocations[lost].At
		putProofs(t, s, lost, proofOf(lost, home, at.Add(time.Minute)).Returned(at.Add(time.Minute)))
		db := openWrites(t, s)
		now := at.Add(time.Hour).UnixMilli()
		for _, text := range []string{
			`UPDATE revocation_proofs SET config_at = $1, connections_at = $1, digest = 'ab'`,
			`INSERT INTO revocation_proofs (revoked_id, device_id, config_at, digest, connections_at, returns, returned_at)
				VALUES ('` + string(lost) + `', '` + string(desk) + `', $1, 'ab', $1, 0, 0)`,
		} {
			if _, err := db.ExecContext(t.Context(), text, now); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range must(s.RevocationProofs(t.Context(), lost))(t) {
			if p.Proven() {
				t.Errorf("a forged row is believed: %+v", p)
			}
		}
		if report := must(s.VerifyAudit(t.Context(), nil))(t); len(report.Rows) == 0 {
			t.Error("nobody is told of the forged rows")
		}
	})
}
