package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"

	"muster/internal/fleet"
)

// observeConfig makes a revision of an observed configuration, unless it is the one that was seen last.
func (t *tx) observeConfig(p preparedObservation) error {
	id, config := string(p.Device), p.Config
	newest, err := scanRevision(t.row(selectRevisions+` WHERE device_id = $1 ORDER BY number DESC LIMIT 1`, id))
	if err != nil && !absent(err) {
		return err
	}
	if err == nil && newest.Digest == config.Digest {
		return nil
	}
	seen := config.SeenAt
	if seen.IsZero() {
		seen = t.now
	}
	cause := t.causeOf(p.Device, config.Digest, newest.Number == 0)
	if config.Cause != "" {
		cause = config.Cause
	}
	document, err := t.store.sealedNow(p)
	if err != nil {
		return err
	}
	err = t.exec(`INSERT INTO revision_bodies (device_id, digest, document) VALUES ($1, $2, $3)
		ON CONFLICT (device_id, digest) DO NOTHING`, id, config.Digest, document)
	if err != nil {
		return err
	}
	err = t.exec(`INSERT INTO revisions (device_id, number, digest, cause, seen_at) VALUES ($1, $2, $3, $4, $5)`,
		id, newest.Number+1, config.Digest, plainText(cause), millis(seen))
	if err != nil {
		return err
	}
	t.effects.committed.Revisions = append(t.effects.committed.Revisions, fleet.Revision{Device: p.Device,
		Number: newest.Number + 1, Digest: config.Digest, Cause: cause, SeenAt: seen})
	if keep := t.store.revisions; keep > 0 && newest.Number >= int64(keep) {
		if _, err := t.forgetOld([]fleet.DeviceID{p.Device}, Retention{Revisions: keep}); err != nil {
			return err
		}
	}
	if err := t.rememberPaths(p.Device, p.paths); err != nil {
		return err
	}
	return t.replaceFolders(p.Device, config.Folders)
}

// ObservedConfig returns the configuration that the device was last seen with, with its secrets. Its folders are in the
// document.
func (s *Store) ObservedConfig(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.ObservedConfig{}, err
	}
	newest, err := s.revision(ctx, id, selectDocuments+` ORDER BY r.number DESC LIMIT 1`, string(id))
	return fleet.ObservedConfig{JSON: newest.JSON, Digest: newest.Digest, SeenAt: newest.SeenAt, Cause: newest.Cause}, err
}

// Revisions returns all revisions of a device, newest first, without their documents.
func (s *Store) Revisions(ctx context.Context, id fleet.DeviceID) ([]fleet.Revision, error) {
	if _, err := s.registered(id); err != nil {
		return nil, err
	}
	const all = selectRevisions + ` WHERE device_id = $1 ORDER BY number DESC`
	revisions, err := collect(ctx, pool{s.reads}, scanRevision, all, string(id))
	return revisions, failure("read revisions", err)
}

// RevisionCause returns why a device has a revision, as it is known now, "" when that is not known.
func (s *Store) RevisionCause(ctx context.Context, id fleet.DeviceID, number int64) (cause string, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT cause FROM revisions WHERE device_id = $1 AND number = $2`, string(id),
		number).Scan(&cause)
	if absent(err) {
		return "", nil
	}
	return cause, failure("read revision", err)
}

// Revision returns the revision of a device with this number, with its document.
func (s *Store) Revision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, err
	}
	return s.revision(ctx, id, selectDocuments+` AND r.number = $2`, string(id), number)
}

// explanation is the cause of a configuration that is not stored yet.
type explanation struct{ digest, cause string }

// explain remembers the cause of a device's next configuration; nil forgets it.
func (t *tx) explain(id fleet.DeviceID, e *explanation) {
	explained := t.store.writer.explained
	before, ok := explained[id]
	if !ok && e == nil {
		return
	}
	t.undone(func() {
		if delete(explained, id); ok {
			explained[id] = before
		}
	})
	if delete(explained, id); e != nil {
		explained[id] = *e
	}
}

// causeOf tells why a device has a new configuration: what explainRevision was told, which counts once, else an edit
// at the daemon. The cause of the first configuration is not known.
func (t *tx) causeOf(id fleet.DeviceID, digest string, first bool) string {
	e, ok := t.store.writer.explained[id]
	switch {
	case ok && e.digest == digest:
		t.explain(id, nil)
		return e.cause
	case first:
		return ""
	}
	return fleet.CauseDaemon
}

// explainRevision sets the cause of the revision with this configuration: the device's newest revision or, where that
// is another configuration, the next one that is stored. The mirror, which observes, and the caller, who knows the
// cause, do not wait for one another.
func (t *tx) explainRevision(id fleet.DeviceID, digest, cause string) error {
	n, err := t.affect(`UPDATE revisions SET cause = $3 WHERE device_id = $1 AND digest = $2
		AND number = (SELECT MAX(number) FROM revisions WHERE device_id = $1)`, string(id), digest, plainText(cause))
	switch {
	case err != nil:
		return err
	case n > 0:
		t.explain(id, nil)
	default:
		t.explain(id, &explanation{digest, cause})
	}
	return nil
}

const (
	selectRevisions = `SELECT device_id, number, digest, cause, seen_at FROM revisions`
	selectDocuments = `
		SELECT r.device_id, r.number, r.digest, r.cause, r.seen_at, b.document FROM revisions r
		JOIN revision_bodies b ON b.device_id = r.device_id AND b.digest = r.digest
		WHERE r.device_id = $1`
	selectNewestDigests = `
		SELECT r.device_id, r.digest FROM revisions r
		JOIN (SELECT device_id, MAX(number) AS number FROM revisions GROUP BY device_id) newest
			ON newest.device_id = r.device_id AND newest.number = r.number`
)

// scanRevision reads the columns of selectRevisions.
func scanRevision(row scanner) (fleet.Revision, error) { return scanRevisionAnd(row) }

func scanRevisionAnd(row scanner, more ...any) (r fleet.Revision, err error) {
	var seen sql.NullInt64
	err = row.Scan(append([]any{(*string)(&r.Device), &r.Number, &r.Digest, &r.Cause, &seen}, more...)...)
	r.SeenAt = fromMillis(seen)
	return r, err
}

func scanDigest(row scanner) (a about[string], err error) {
	err = row.Scan((*string)(&a.device), &a.what)
	return a, err
}

func (s *Store) revision(ctx context.Context, id fleet.DeviceID, text string, args ...any) (fleet.Revision, error) {
	r, document, err := s.document(ctx, id, text, args...)
	if err != nil {
		return r, err
	}
	r.JSON, err = document.read(func(bytes int64) error { return s.take(ctx, bytes) })
	return r, err
}

func (s *Store) document(
	ctx context.Context, id fleet.DeviceID, text string, args ...any,
) (fleet.Revision, Document, error) {
	var sealed []byte
	r, err := scanRevisionAnd(s.reads.QueryRowContext(ctx, text, args...), &sealed)
	if absent(err) {
		return r, Document{}, &fleet.Error{
			Code: fleet.CodeNotFound, Message: "this configuration of the device was never seen",
			Hint: "GET devices/{id}/revisions lists those that were.",
		}
	}
	if err != nil {
		return r, Document{}, failure("read revision", err)
	}
	document, err := s.openDocument(ctx, id, r.Digest, sealed)
	return r, document, err
}

// packers are reused, because to make one costs more than to pack a usual configuration.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil { // cannot be: the level exists
		panic(err)
	}
	return w
}}

func (s *Store) sealDocument(id fleet.DeviceID, digest string, document []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(document); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return s.seal.Seal("revision_bodies", string(id)+"/"+digest, "document", packed.Bytes()), nil
}

// sealedNow returns the document of an observation, sealed with the present key. A new key may have replaced the former
// one since the observation was prepared.
func (s *Store) sealedNow(p preparedObservation) ([]byte, error) {
	if s.seal.Current(p.document) {
		return p.document, nil
	}
	row := string(p.Device) + "/" + p.Config.Digest
	packed, err := s.seal.Open("revision_bodies", row, "document", p.document)
	if err != nil {
		return nil, err
	}
	return s.seal.Seal("revision_bodies", row, "document", packed), nil
}

func (s *Store) openDocument(ctx context.Context, id fleet.DeviceID, digest string, sealed []byte) (Document, error) {
	if size := int64(2 * len(sealed)); size > smallDocument {
		if err := s.take(ctx, size); err != nil {
			return Document{}, err
		}
	}
	packed, err := s.seal.Open("revision_bodies", string(id)+"/"+digest, "document", sealed)
	return Document{id, packed}, err
}

// Document is a configuration in the packed form in which it is stored.
type Document struct {
	device fleet.DeviceID
	packed []byte
}

// Open reads the configuration from its beginning, with its secrets.
func (d Document) Open() io.Reader { return flate.NewReader(bytes.NewReader(d.packed)) }

// NewestDocument returns the newest revision of a device, with its configuration as a Document.
func (s *Store) NewestDocument(ctx context.Context, id fleet.DeviceID) (fleet.Revision, Document, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, Document{}, err
	}
	return s.document(ctx, id, selectDocuments+` ORDER BY r.number DESC LIMIT 1`, string(id))
}

// RevisionDocument does what Revision does, with a Document instead of the text, which may be large.
func (s *Store) RevisionDocument(
	ctx context.Context, id fleet.DeviceID, number int64,
) (fleet.Revision, Document, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, Document{}, err
	}
	return s.document(ctx, id, selectDocuments+` AND r.number = $2`, string(id), number)
}

// smallDocument is up to how many bytes a configuration needs no memory from Store.memory.
const smallDocument = 64 << 10

// take takes memory for the work of ctx, and gives an error when there is not enough.
func (s *Store) take(ctx context.Context, bytes int64) error {
	if s.memory == nil {
		return nil
	}
	return s.memory.Take(ctx, bytes)
}

// unpackers are reused, because to make one costs more than to unpack a usual configuration.
var unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// read returns the whole text. It unpacks a large one twice, because its size must be known before memory is taken.
func (d Document) read(take func(bytes int64) error) ([]byte, error) {
	r := unpackers.Get().(io.Reader)
	defer unpackers.Put(r)
	start, err := d.unpack(r, smallDocument+1)
	if err != nil || len(start) <= smallDocument {
		return start, err
	}
	rest, err := io.Copy(io.Discard, r)
	if err != nil {
		return nil, d.broken(err)
	}
	size := int64(len(start)) + rest
	if err := take(size); err != nil {
		return nil, err
	}
	if err := d.reset(r); err != nil {
		return nil, err
	}
	whole := make([]byte, size)
	if _, err := io.ReadFull(r, whole); err != nil {
		return nil, d.broken(err)
	}
	return whole, nil
}

// unpack returns the beginning of the text, up to most bytes.
func (d Document) unpack(r io.Reader, most int64) ([]byte, error) {
	if err := d.reset(r); err != nil {
		return nil, err
	}
	const usual = 5 // a text is usually so many times as long as packed
	var start bytes.Buffer
	start.Grow(int(min(usual*int64(len(d.packed))+bytes.MinRead, most)))
	if _, err := start.ReadFrom(io.LimitReader(r, most)); err != nil {
		return nil, d.broken(err)
	}
	return start.Bytes(), nil
}

func (d Document) reset(r io.Reader) error {
	if err := r.(flate.Resetter).Reset(bytes.NewReader(d.packed), nil); err != nil {
		return d.broken(err)
	}
	return nil
}

func (d Document) broken(err error) error {
	return fmt.Errorf("unpack configuration of %s: %w", d.device, err)
}
