package store

import (
	"context"
	"crypto/hmac"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// maxBaseKeyBytes bounds the key of a base entry, because PostgreSQL cannot put longer values into an index. A key
// that names a folder and a device has a few hundred bytes.
const maxBaseKeyBytes = 2 << 10

const (
	baseColumns = `key, kind, base, written, intended, earlier, sent, version, templates, state, run, implied, by_admin,
		revoked, mark`
	selectBase = `SELECT ` + baseColumns + ` FROM base_entries WHERE device_id = $1`
)

// maxBaseKeys is how many keys one query reads. Each takes two parameters, and a database allows some ten thousand.
const maxBaseKeys = 1000

// BaseKey is the key of a base entry of a device.
type BaseKey struct {
	Device fleet.DeviceID
	Key    string
}

// BaseEntries returns the base entries of a device, sorted by key. A base entry records what Muster wrote at one key
// of the configuration and which value was there before. It returns a conflict error if another program changed or
// added one of them: a plan would take a person's folder for Muster's own, or another value for the one to go back to.
func (s *Store) BaseEntries(ctx context.Context, id fleet.DeviceID) ([]fleet.BaseEntry, error) {
	if _, err := s.registered(id); err != nil {
		return nil, err
	}
	kept, err := s.baseEntries(ctx, pool{s.reads}, id)
	if err != nil {
		return nil, failure("read base", err)
	}
	entries := make([]fleet.BaseEntry, 0, len(kept))
	for _, e := range kept {
		if !e.believed {
			s.notBelieved(baseRows, markedRow{key: []string{string(id), e.Key}})
			return nil, &fleet.Error{Code: fleet.CodeConflict, During: "read base",
				Message: fmt.Sprintf("what Muster remembers of %s on the device was changed in the database", e.Key),
				Hint:    acceptHint}
		}
		entries = append(entries, e.BaseEntry)
	}
	slices.SortFunc(entries, func(a, b fleet.BaseEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}

// keptBase is a base entry with the mark of its row.
type keptBase struct {
	fleet.BaseEntry
	mark     []byte
	believed bool // The row fits its mark.
}

func (s *Store) baseEntries(ctx context.Context, q querier, id fleet.DeviceID) ([]keptBase, error) {
	return collect(ctx, q, func(row scanner) (keptBase, error) { return s.scanBase(&id, row) }, selectBase, string(id))
}

// BaseEntriesAt returns the base entries that exist at these keys of some devices. It leaves out those that another
// program changed or added.
func (s *Store) BaseEntriesAt(ctx context.Context, keys []BaseKey) (map[BaseKey]fleet.BaseEntry, error) {
	found := map[BaseKey]fleet.BaseEntry{}
	for some := range slices.Chunk(keys, maxBaseKeys) {
		pairs, args := make([]string, len(some)), make([]any, 0, 2*len(some))
		for i, key := range some {
			pairs[i] = fmt.Sprintf("($%d, $%d)", 2*i+1, 2*i+2)
			args = append(args, string(key.Device), key.Key)
		}
		_, err := collect(ctx, pool{s.reads}, func(row scanner) (none struct{}, err error) {
			var id fleet.DeviceID
			entry, err := s.scanBase(&id, row, (*string)(&id))
			if entry.believed {
				found[BaseKey{id, entry.Key}] = entry.BaseEntry
			}
			return none, err
		}, `SELECT device_id, `+baseColumns+` FROM base_entries WHERE (device_id, key) IN (VALUES `+
			strings.Join(pairs, ", ")+`)`, args...)
		if err != nil {
			return nil, failure("read base", err)
		}
	}
	return found, nil
}

// PutBaseEntries replaces the base entries of a device, for a change of the base that does not come with a write to
// the daemon: a person edited the configuration, or answered that the daemon's value shall stay. Muster's own writes
// replace the entries together with their intent.
func (s *Store) PutBaseEntries(ctx context.Context, id fleet.DeviceID, entries []fleet.BaseEntry) error {
	_, err := write(ctx, s, "put base", func(t *tx) (none struct{}, err error) {
		if there, err := t.exists(id); err != nil || !there {
			return none, orElse(err, noDevice(id))
		}
		return none, t.replaceBase(id, entries)
	})
	return err
}

// replaceBase replaces all base entries of a device by entries. It writes only the entries that differ, because a
// device may have thousands of them and an intent changes few. Two entries with one key are a conflict error.
func (t *tx) replaceBase(id fleet.DeviceID, entries []fleet.BaseEntry) error {
	if len(entries) <= fewEntries { // Writing so few entries costs less than reading the present ones.
		return t.rewriteBase(id, entries)
	}
	all, err := t.store.baseEntries(t.ctx, t.session, id)
	if err != nil {
		return err
	}
	before, now := make(map[string]keptBase, len(all)), make(map[string]bool, len(entries))
	for _, e := range all {
		before[e.Key] = e
	}
	for _, e := range entries {
		if now[e.Key] {
			return twiceInBase
		}
		now[e.Key] = true
		was, there := before[e.Key]
		if there && was.believed && reflect.DeepEqual(was.BaseEntry, e) {
			continue
		}
		t.countChange(baseRows, []string{string(id), e.Key}, was.mark, nil)
		if err := t.putBase(id, e); err != nil {
			return err
		}
	}
	for _, e := range all {
		if now[e.Key] {
			continue
		}
		t.countChange(baseRows, []string{string(id), e.Key}, e.mark, nil)
		if err := t.exec(`DELETE FROM base_entries WHERE device_id = $1 AND key = $2`, string(id), e.Key); err != nil {
			return err
		}
	}
	return nil
}

const fewEntries = 2

func (t *tx) rewriteBase(id fleet.DeviceID, entries []fleet.BaseEntry) error {
	if err := t.unmark(baseRows, `device_id = $1`, string(id)); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM base_entries WHERE device_id = $1`, string(id)); err != nil {
		return err
	}
	for i, e := range entries {
		if slices.ContainsFunc(entries[:i], func(other fleet.BaseEntry) bool { return other.Key == e.Key }) {
			return twiceInBase
		}
		if err := t.putBase(id, e); err != nil {
			return err
		}
	}
	return nil
}

var twiceInBase = &fleet.Error{Code: fleet.CodeConflict, Message: "two base entries have the same key",
	Hint: "This is a fault of Muster: report it."}

// putBase stores a base entry with its mark. The caller takes the mark of the entry that was there out of the tally.
func (t *tx) putBase(id fleet.DeviceID, e fleet.BaseEntry) error {
	if !storable(e.Key, maxBaseKeyBytes) {
		return fleet.Invalidf("key", "a key is UTF-8 text of at most %d bytes", maxBaseKeyBytes)
	}
	templates, err := json.Marshal(e.Templates)
	if err != nil {
		return err
	}
	sealed := func(column string, plain []byte) []byte {
		if plain == nil {
			return nil // NULL: an absent value must differ from an empty one, and its absence is no secret.
		}
		return t.store.seal.Seal("base_entries", baseRow(id, e.Key), column, plain)
	}
	var revoked []byte
	if e.Revoked || e.Away {
		revoked = []byte{0}
	}
	if e.Revoked {
		revoked[0] |= byTemplates
	}
	if e.Away {
		revoked[0] |= everywhere
	}
	key := []string{string(id), e.Key}
	mark := t.store.markOf(baseRows, key, baseContent(e, string(templates), revoked))
	t.countChange(baseRows, key, nil, mark)
	return t.exec(`
		INSERT INTO base_entries
			(device_id, key, kind, base, written, intended, earlier, sent, version, templates, state, run, implied,
			by_admin, revoked, mark)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		ON CONFLICT (device_id, key) DO UPDATE SET kind = excluded.kind, base = excluded.base, written = excluded.written,
			intended = excluded.intended, earlier = excluded.earlier, sent = excluded.sent, version = excluded.version,
			templates = excluded.templates, state = excluded.state, run = excluded.run,
			implied = excluded.implied, by_admin = excluded.by_admin, revoked = excluded.revoked,
			mark = excluded.mark`,
		string(id), e.Key, string(e.Kind), sealed("base", e.Base), sealed("written", e.Written),
		sealed("intended", e.Intended),
		sealed("earlier", e.Earlier), sealed("sent", e.Sent), e.Version, string(templates), string(e.State), e.Run,
		e.Implied, e.ByAdmin, sealed("revoked", revoked), mark)
}

// baseContent returns the content of a row that its mark covers, in the order of baseRows. templates and revoked are
// the values of these columns, revoked not sealed.
func baseContent(e fleet.BaseEntry, templates string, revoked []byte) (content []sql.NullString) {
	for _, value := range []any{
		string(e.Kind), e.Base, e.Written, e.Intended, e.Earlier, e.Sent, e.Version, templates, string(e.State), e.Run,
		e.Implied, e.ByAdmin, revoked,
	} {
		if plain, is := value.([]byte); is {
			content = append(content, sql.NullString{String: string(plain), Valid: plain != nil})
		} else {
			content = append(content, markedValue(value))
		}
	}
	return content
}

// The column `revoked` holds one byte with these bits.
const (
	byTemplates byte = 1 << iota // BaseEntry.Revoked
	everywhere                   // BaseEntry.Away
)

// scanBase reads a base entry from a row that may have other columns first. id is that of the device once these are
// read.
func (s *Store) scanBase(id *fleet.DeviceID, row scanner, first ...any) (e keptBase, err error) {
	var base, written, intended, earlier, sent, sealedRevoked, revoked []byte
	var templates string
	err = row.Scan(append(first, &e.Key, (*string)(&e.Kind), &base, &written, &intended, &earlier, &sent, &e.Version,
		&templates, (*string)(&e.State), &e.Run, &e.Implied, &e.ByAdmin, &sealedRevoked, &e.mark)...)
	if err != nil {
		return e, err
	}
	for _, column := range []struct {
		name   string
		sealed []byte
		into   *[]byte
	}{{"base", base, &e.Base}, {"written", written, &e.Written}, {"intended", intended, &e.Intended},
		{"earlier", earlier, &e.Earlier}, {"sent", sent, &e.Sent}, {"revoked", sealedRevoked, &revoked}} {
		if column.sealed == nil {
			continue
		}
		if *column.into, err = s.seal.Open("base_entries", baseRow(*id, e.Key), column.name, column.sealed); err != nil {
			return e, err
		}
	}
	if len(revoked) > 0 {
		e.Revoked, e.Away = revoked[0]&byTemplates != 0, revoked[0]&everywhere != 0
	}
	fits := s.markOf(baseRows, []string{string(*id), e.Key}, baseContent(e.BaseEntry, templates, revoked))
	if e.believed = hmac.Equal(e.mark, fits); !e.believed {
		return e, nil
	}
	return e, json.Unmarshal([]byte(templates), &e.Templates)
}

func baseRow(id fleet.DeviceID, key string) string { return string(id) + "/" + key }
