package store

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// fillSealed writes something into every sealed column: a device with all that can be known of it, by number.
func fillSealed(t *testing.T, s *Store, n int) fleet.Device {
	t.Helper()
	device := put(t, s, deviceN(n))
	observeDocument(t, s, device.ID, fmt.Sprintf(`{"version":37,"folders":[],"n":%d,"pad":%q}`, n,
		strings.Repeat(fmt.Sprint(n), 100*n)))
	entries := []fleet.BaseEntry{{Key: "options.natEnabled", Kind: fleet.BaseLeaf, Revoked: true, Base: []byte("true"),
		Written: []byte("false"), Intended: []byte("false"), Earlier: []byte("[]"), Sent: []byte("d"),
		State: fleet.BaseSending, Templates: []int64{1}}}
	id := must(s.BeginIntent(t.Context(), fleet.Intent{Device: device.ID, Writes: []byte("writes")}, entries))(t)
	if id == 0 {
		t.Fatal("no intent")
	}
	template := create(t, s, device.Label)
	template.Text = "true\n"
	must(s.PutTemplate(t.Context(), template, nil))(t)
	for _, of := range []fleet.VarsOwner{{Device: device.ID}, {Tag: fleet.Tag(device.Label)}} {
		must(s.PutVars(t.Context(), of, `{"x":1}`, nil))(t)
	}
	must(s.OwnKey(t.Context(), "digests"))(t)
	name := fleet.SettingName("setting of " + device.Label)
	if err := s.PutFolderProofs(t.Context(), string(name), []byte("proofs")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSetting(t.Context(), name, "value", "value", nil); err != nil {
		t.Fatal(err)
	}
	must2(s.PutSink(t.Context(), fleet.Sink{Name: fmt.Sprint("sink-", n%5), Kind: fleet.SinkHTTP,
		Address: "https://siem.example/in",
		Streams: []fleet.SinkStream{fleet.StreamSync}}))(t)
	addPerson(t, s, n)
	reject(t, s, 50+n)
	must2(s.PutSecret(t.Context(), fleet.PutSecret{Name: device.Label, Value: fleet.NewSecret("hidden")}))(t)
	return device
}

func must2[T, U any](v T, _ U, err error) func(testing.TB) T { return must(v, err) }

func observeDocument(t *testing.T, s *Store, id fleet.DeviceID, document string) {
	t.Helper()
	err := s.SaveObservations(t.Context(), []fleet.Observation{{Device: id, LastSeen: time.Now(),
		Config: &fleet.ObservedConfig{JSON: []byte(document), Digest: fmt.Sprintf("%x", document[:min(60, len(document))])}}})
	if err != nil {
		t.Fatal(err)
	}
}

// A column that is forgotten in the list would be left behind by a rotation, and not looked at by a restore.
func TestEveryBlobOfTheDatabaseIsListedAsSealed(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: t.TempDir(), Seal: key(t, 1)})
	blobs := must(collect(t.Context(), pool{s.reads}, func(row scanner) (name string, err error) {
		return name, row.Scan(&name)
	}, `SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.type = 'BLOB' AND c.name <> 'mark'
			AND NOT (m.name = 'audit_heads' AND c.name = 'signature')`))(t)
	var listed []string
	for _, c := range sealedColumns {
		listed = append(listed, c.table+"."+c.column)
	}
	slices.Sort(blobs)
	slices.Sort(listed)
	if !slices.Equal(blobs, listed) {
		t.Errorf("blobs of the tables: %v\nlisted as sealed: %v", blobs, listed)
	}
}

// filesWith are the files of a home that hold some bytes.
func filesWith(t *testing.T, home string, needle []byte) (names []string) {
	t.Helper()
	for _, entry := range must(os.ReadDir(home))(t) {
		if bytes.Contains(must(os.ReadFile(filepath.Join(home, entry.Name())))(t), needle) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// rotate replaces the first key of a ring, and seals everything anew.
func rotate(t *testing.T, s *Store, ring *seal.Ring) {
	t.Helper()
	next := ring.With(seal.Random())
	if err := s.ReplaceSeal(t.Context(), func() { ring.Take(next) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Reseal(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	ring.Take(ring.Newest())
}

func TestARotationLeavesNothingThatTheOldKeySealed(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		ring := seal.NewRing(key(t, 1))
		options.Seal = ring
		s := open(t, options)
		for n := range 60 {
			fillSealed(t, s, n)
		}
		want := opened(t, s)
		old := must(hex.DecodeString(key(t, 1).ID()))(t)
		if options.DSN == "" && len(filesWith(t, options.Home, old)) == 0 {
			t.Fatal("the files do not name the key, so this test would show nothing")
		}
		rotate(t, s, ring)
		if got := opened(t, s); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		if options.DSN == "" {
			if files := filesWith(t, options.Home, old); len(files) > 0 {
				t.Errorf("%v still hold what the old key sealed", files)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		options.Seal = key(t, 1)
		if _, err := Open(t.Context(), options); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("the old key still fits: %v", err)
		}
	})
}

// opened are all sealed values of a database, as text.
func opened(t *testing.T, s *Store) (all []string) {
	t.Helper()
	for _, column := range sealedColumns {
		cells := must(column.cells(t.Context(), pool{s.reads}, nil, 10_000, `length(`+column.column+`) > $1`, 0))(t)
		if len(cells) == 0 {
			t.Errorf("%s.%s holds nothing: this test shows nothing about it", column.table, column.column)
		}
		for _, cell := range cells {
			if cell.row() == auditEnds {
				continue // the rotation itself is in the audit
			}
			plain := must(s.seal.Open(column.table, cell.row(), column.column, cell.sealed))(t)
			all = append(all, fmt.Sprintf("%s %s %s %s", column.table, cell.row(), column.column, plain))
		}
	}
	return all
}

// An observation is sealed before it waits for the writer: the key may be replaced meanwhile.
func TestADocumentSealedBeforeARotationIsKeptWithTheNewKey(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing(key(t, 1))
	s := open(t, Options{Home: t.TempDir(), Seal: ring})
	device := put(t, s, deviceN(1))
	config := fleet.ObservedConfig{JSON: []byte(`{"version":37}`), Digest: "d"}
	late := must(s.prepare(fleet.Observation{Device: device.ID, Config: &config}))(t)
	next := ring.With(seal.Random())
	if err := s.ReplaceSeal(t.Context(), func() { ring.Take(next) }); err != nil {
		t.Fatal(err)
	}
	must(write(t.Context(), s, "save", func(t *tx) (none struct{}, err error) { return none, t.observe(late) }))(t)
	var document []byte
	if err := s.reads.QueryRowContext(t.Context(), `SELECT document FROM revision_bodies`).Scan(&document); err != nil {
		t.Fatal(err)
	}
	if !ring.Current(document) {
		t.Error("the old key sealed it: the end of the rotation would make it unreadable")
	}
	if got := must(s.ObservedConfig(t.Context(), device.ID))(t); string(got.JSON) != string(config.JSON) {
		t.Errorf("got %s", got.JSON)
	}
}

// What a person deletes or replaces is gone from the files soon afterwards, also while the server runs.
func TestWhatWasDeletedIsGoneFromTheFiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := open(t, Options{Home: home, Seal: key(t, 1)})
	for n := range 20 {
		fillSealed(t, s, n)
	}
	device := deviceN(7)
	sealedKey := func() (sealed []byte) {
		if err := s.reads.QueryRowContext(t.Context(), `SELECT api_key FROM devices WHERE id = $1`,
			string(device.ID)).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	first := sealedKey()
	device.APIKey = fleet.NewSecret("another")
	put(t, s, device)
	second := sealedKey()
	var secret, document []byte
	if err := s.reads.QueryRowContext(t.Context(), `SELECT value FROM secrets WHERE name = $1`,
		device.Label).Scan(&secret); err != nil {
		t.Fatal(err)
	}
	if err := s.reads.QueryRowContext(t.Context(), `SELECT document FROM revision_bodies WHERE device_id = $1`,
		string(device.ID)).Scan(&document); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSecret(t.Context(), device.Label); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteDevice(t.Context(), device.ID, nil); err != nil {
		t.Fatal(err)
	}
	for name, gone := range map[string][]byte{"replaced key": first, "deleted key": second, "secret": secret,
		"document": document} {
		for deadline := time.Now().Add(time.Minute); ; {
			files := filesWith(t, home, gone[:40])
			if len(files) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: still in %v", name, files)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

// A reader that takes its time must not stop a rotation for good, and the writer waits for none.
func TestTheLogIsCutOnceItsReadersHaveGone(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: t.TempDir(), Seal: key(t, 1)})
	put(t, s, deviceN(1))
	reader := must(s.reads.Conn(t.Context()))(t)
	if _, err := reader.ExecContext(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM devices`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	put(t, s, deviceN(2))
	done := make(chan error, 1)
	go func() { done <- s.Scrub(t.Context()) }()
	for i := range 5 { // others write meanwhile
		put(t, s, deviceN(10+i))
	}
	select {
	case err := <-done:
		t.Fatalf("the log was cut below a reader: %v", err)
	default:
	}
	if _, err := reader.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Texts of templates were kept as they are, with the literal passwords in them.
func TestTextsOfTemplatesAreNotReadableInTheFiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := open(t, Options{Home: home, Seal: key(t, 1)})
	const canary = "canary-in-a-template"
	template := must(s.CreateTemplate(t.Context(), fleet.Template{Op: fleet.OpSet, Key: "gui.password",
		Text: `"` + canary + `"`}))(t)
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files := filesWith(t, home, []byte(canary)); len(files) > 0 {
		t.Errorf("the text is in %v", files)
	}
	if got := must(s.Template(t.Context(), template.ID))(t); !strings.Contains(got.Text, canary) {
		t.Errorf("got %q", got.Text)
	}
}

func TestOwnKeysStayWhenTheSealKeyIsReplaced(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		ring := seal.NewRing(key(t, 1))
		options.Seal = ring
		s := open(t, options)
		before := must(key(t, 1).Derive("digests"))(t)
		first := must(s.OwnKey(t.Context(), "digests"))(t)
		rotate(t, s, ring)
		if again := must(s.OwnKey(t.Context(), "digests"))(t); !bytes.Equal(first, again) || !bytes.Equal(first, before) {
			t.Errorf("got %x, then %x, want %x", first, again, before)
		}
	})
}
