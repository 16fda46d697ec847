package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"muster/internal/fleet"
)

const limitedFolder = "MUSTER_BACKUP_TEST_LIMITED"

func TestMain(m *testing.M) {
	if folder := os.Getenv(limitedFolder); folder != "" {
		os.Exit(backUpWithLittleRoom(folder))
	}
	os.Exit(m.Run())
}

// given is a Sink that keeps what it is given.
type given struct {
	version   int64
	tables    []string
	rows      [][]any
	sequences map[string]int64
}

func (g *given) Schema(version int64) error {
	*g = given{version: version, sequences: map[string]int64{}}
	return nil
}

func (g *given) Table(name string, columns []string) error {
	g.tables = append(g.tables, name+" "+strings.Join(columns, ","))
	return nil
}

func (g *given) Row(values []any) error {
	g.rows = append(g.rows, append([]any{}, values...))
	return nil
}

func (g *given) Sequence(table string, last int64) error {
	g.sequences[table] = last
	return nil
}

// rowsOf are values that are hard to keep as they are.
func rowsOf() [][]any {
	random := bytes.Repeat([]byte{0, 1, 0xff, '\n', '"'}, 50)
	return [][]any{
		{nil, true, int64(math.MaxInt64), "text \u2028 <&> \"quoted\" \x01 \U0001f512", random},
		{"[", false, int64(math.MinInt64), "", []byte{}},
		{`{"b":"AA=="}`, nil, int64(0), "null", []byte{0}},
	}
}

func dump(to Sink) error {
	err := errors.Join(to.Schema(21), to.Table("first", []string{"a", "b", "c", "d", "e"}))
	for _, row := range rowsOf() {
		err = errors.Join(err, to.Row(row))
	}
	return errors.Join(err, to.Table("empty", []string{"x"}), to.Table("last", []string{"y"}), to.Row([]any{"z"}),
		to.Sequence("first", 12))
}

func sourceFor(lock Lock) Source {
	return Source{
		Muster: "test", Now: time.Unix(1_700_000_000, 0), Lock: lock, Dump: dump,
		Files: func() ([]File, error) { return []File{{"seal.key", []byte("the key\n")}, {"tls.pem", nil}}, nil },
		Check: func(Content) (Sink, error) { return &given{}, nil },
	}
}

func withPassphrase(t *testing.T, text string) (Lock, Opener) {
	t.Helper()
	lock, err := NewLock(nil, fleet.NewSecret(text))
	opener, err2 := NewOpener(fleet.Secret{}, fleet.NewSecret(text))
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return lock, opener
}

func withKey(t *testing.T) (Lock, Opener) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := NewLock([]string{other.Recipient().String(), key.Recipient().String()}, fleet.Secret{})
	opener, err2 := NewOpener(fleet.NewSecret("# made by age-keygen\n"+key.String()+"\n"), fleet.Secret{})
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return lock, opener
}

func create(t *testing.T, lock Lock) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.backup")
	made, err := Create(path, sourceFor(lock))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != made.Bytes {
		t.Fatalf("got %v, %v, made %+v", info, err, made)
	}
	return path
}

func TestABackupHasWhatWasGiven(t *testing.T) {
	for name, of := range map[string]func() (Lock, Opener){
		"passphrase": func() (Lock, Opener) { return withPassphrase(t, "a passphrase that is long") },
		"recipients": func() (Lock, Opener) { return withKey(t) },
	} {
		t.Run(name, func(t *testing.T) {
			lock, opener := of()
			var got given
			content, err := Read(create(t, lock), opener, func(content Content) (Sink, error) {
				if content.Schema != 21 || len(content.Files) != 2 {
					t.Errorf("before the tables it says %+v", content)
				}
				return &got, nil
			})
			if err != nil || !content.CreatedAt.Equal(time.Unix(1_700_000_000, 0)) {
				t.Fatalf("%+v, %v", content, err)
			}
			want := given{version: 21, tables: []string{"first a,b,c,d,e", "empty x", "last y"},
				rows: append(rowsOf(), []any{"z"}), sequences: map[string]int64{"first": 12}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if key, err := content.File("seal.key"); err != nil || string(key) != "the key\n" {
				t.Errorf("got %q, %v", key, err)
			}
			if _, err := content.File("absent"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// wantRefused reads a file that is no whole backup.
func wantRefused(t *testing.T, text []byte, opener Opener, why, want string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.backup")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(path, opener, func(Content) (Sink, error) { return &given{}, nil })
	var refused *fleet.Error
	if !errors.As(err, &refused) || refused.Code != fleet.CodeInvalid || !strings.Contains(refused.Message, want) ||
		refused.Hint == "" {
		t.Fatalf("%s: got %v, want %q", why, err, want)
	}
}

func TestAChangedOrCutBackupIsRefused(t *testing.T) {
	lock, opener := withKey(t)
	whole, err := os.ReadFile(create(t, lock))
	if err != nil {
		t.Fatal(err)
	}
	for size := range whole {
		wantRefused(t, whole[:size], opener, fmt.Sprintf("cut to %d bytes", size), "is cut short or was changed")
	}
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 0x20
		want := "backup" // in the header it may also look as if it was made for another key
		if at > 700 {
			want = "is cut short or was changed"
		}
		wantRefused(t, changed, opener, fmt.Sprintf("byte %d changed", at), want)
	}
	wantRefused(t, append(bytes.Clone(whole), 'x'), opener, "something appended", "is cut short or was changed")
}

func TestAWrongKeyOrPassphraseIsRefused(t *testing.T) {
	lock, _ := withKey(t)
	_, other := withKey(t)
	_, wrong := withPassphrase(t, "a passphrase that is wrong")
	forKey, err := os.ReadFile(create(t, lock))
	if err != nil {
		t.Fatal(err)
	}
	wantRefused(t, forKey, other, "another key", "not its key or passphrase")
	wantRefused(t, forKey, wrong, "a passphrase for a key", "not its key or passphrase")
	lock, _ = withPassphrase(t, "a passphrase that is right")
	forPassphrase, err := os.ReadFile(create(t, lock))
	if err != nil {
		t.Fatal(err)
	}
	wantRefused(t, forPassphrase, wrong, "another passphrase", "not its key or passphrase")
	wantRefused(t, forPassphrase, other, "a key for a passphrase", "not its key or passphrase")
}

// A file that was never a backup, lines in the wrong order, a backup that says nothing of its end.
func TestLinesOutOfPlaceAreRefused(t *testing.T) {
	const head = `{"backup":{"format":1,"schema":1}}` + "\n"
	for name, text := range map[string]string{
		"nothing":             "",
		"only a head":         head,
		"no end":              head + `{"table":{"name":"t","columns":["a"]}}` + "\n[1]\n",
		"wrong count":         head + `{"table":{"name":"t","columns":["a"]}}` + "\n[1]\n" + `{"end":{"tables":1,"rows":2}}`,
		"after the end":       head + `{"table":{"name":"t","columns":["a"]}}` + "\n" + `{"end":{"tables":1,"rows":0}}` + "\n[1]",
		"row without a table": head + "[1]\n",
		"row too short":       head + `{"table":{"name":"t","columns":["a","b"]}}` + "\n[1]\n",
		"no head":             `{"table":{"name":"t","columns":["a"]}}`,
		"a file in between":   head + `{"table":{"name":"t","columns":["a"]}}` + "\n" + `{"file":{"name":"x"}}`,
		"another kind":        head + `{"strange":1}`,
		"a fraction":          head + `{"table":{"name":"t","columns":["a"]}}` + "\n[1.5]\n",
	} {
		if _, err := readAll(strings.NewReader(text), func(Content) (Sink, error) { return &given{}, nil }); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	newer := `{"backup":{"format":99,"muster":"v9"}}`
	_, err := readAll(strings.NewReader(newer), nil)
	err = unreadable(err)
	if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "newer Muster, v9") {
		t.Errorf("got %v", err)
	}
}

// wantNothing checks that no attempt left anything in a folder.
func wantNothing(t *testing.T, folder string) {
	t.Helper()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	lock, _ := withKey(t)
	folder, broken := t.TempDir(), errors.New("the database is gone")
	for name, change := range map[string]func(*Source){
		"dump":  func(s *Source) { s.Dump = func(to Sink) error { return errors.Join(to.Schema(1), broken) } },
		"files": func(s *Source) { s.Files = func() ([]File, error) { return nil, broken } },
		"check": func(s *Source) { s.Check = func(Content) (Sink, error) { return nil, broken } },
	} {
		source := sourceFor(lock)
		change(&source)
		if _, err := Create(filepath.Join(folder, "a.backup"), source); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
		wantNothing(t, folder)
	}
}

func TestABackupReplacesNoFile(t *testing.T) {
	lock, _ := withKey(t)
	path := create(t, lock)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, sourceFor(lock)); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed, %v", err)
	}
}

// A disk that is full is one that takes no more bytes: so is a process that may write no larger files.
func TestADiskThatIsFullIsNamedAndNothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), limitedFolder+"="+folder)
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "unavailable") || !strings.Contains(string(out), "Make room there") {
		t.Errorf("%v: %s", err, out)
	}
	wantNothing(t, folder)
}

func backUpWithLittleRoom(folder string) int {
	const room = 64 << 10
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: room, Max: room}); err != nil {
		fmt.Println(err)
		return 1
	}
	lock, err := NewLock(nil, fleet.NewSecret("a passphrase that is long"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	source := sourceFor(lock)
	source.Dump = func(to Sink) error {
		err := errors.Join(to.Schema(1), to.Table("t", []string{"a"}))
		for n := range 10_000 {
			noise := make([]byte, 0, 200)
			for i := range 200 {
				noise = append(noise, byte(n*i*i>>3))
			}
			if err != nil {
				break
			}
			err = to.Row([]any{append(noise, fmt.Sprint(n)...)})
		}
		return err
	}
	_, err = Create(filepath.Join(folder, "a.backup"), source)
	var e *fleet.Error
	if !errors.As(err, &e) {
		fmt.Println("not refused:", err)
		return 1
	}
	fmt.Println(e.Code, e.Message, e.Hint)
	return 0
}

func TestAShortPassphraseIsRefusedWithTheCommandThatMakesOne(t *testing.T) {
	for text, want := range map[string]fleet.Code{"0123456789abcdefghi": fleet.CodeInvalid, "0123456789abcdefghij": ""} {
		_, err := NewLock(nil, fleet.NewSecret(text))
		if got := fleet.CodeOf(err); got != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		var refused *fleet.Error
		if errors.As(err, &refused) && !strings.Contains(refused.Hint, "openssl rand -base64 24") {
			t.Errorf("got the hint %q", refused.Hint)
		}
	}
	if _, err := NewOpener(fleet.Secret{}, fleet.NewSecret("short")); err != nil {
		t.Errorf("a backup of before cannot be opened: %v", err)
	}
}

// Rows were written by encoding/json before; backups of then are read still.
func TestARowThatEncodingJSONWroteIsRead(t *testing.T) {
	type bytesOfBefore struct {
		Bytes []byte `json:"b"`
	}
	text := "a\u2028b<&>\"\\\n\x00\x7fü"
	var file bytes.Buffer
	w := newWriter(&file, Content{}, func() ([]File, error) { return nil, nil })
	row := []any{nil, true, int64(math.MinInt64), text, []byte{0, 255}, []byte{}}
	before := []any{nil, true, int64(math.MinInt64), text, bytesOfBefore{[]byte{0, 255}}, bytesOfBefore{}}
	columns := []string{"a", "b", "c", "d", "e", "f"}
	if err := errors.Join(w.Schema(1), w.Table("x", columns), w.Row(row), w.out.Encode(before)); err != nil {
		t.Fatal(err)
	}
	w.counts.Rows++
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	var got given
	if _, err := readAll(&file, func(Content) (Sink, error) { return &got, nil }); err != nil {
		t.Fatal(err)
	}
	if want := [][]any{row, row}; !reflect.DeepEqual(got.rows, want) {
		t.Errorf("got %v, want %v", got.rows, want)
	}
	for _, bad := range []string{`[1.5]`, `[1e3]`, `[[1]]`, `[{"b":1}]`, `[{"c":""}]`, `[{"b":"","b":""}]`, `[{"b":"?"}]`,
		`[1,2]`, `[]`, `[9223372036854775808]`, `[`, `[{`} {
		text := `{"backup":{"format":1}}{"table":{"name":"x","columns":["a"]}}` + bad + `{"end":{"tables":1,"rows":1}}`
		if _, err := readAll(strings.NewReader(text), func(Content) (Sink, error) { return &given{}, nil }); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
