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

// observeConfig stores an observed configuration as a new revision, unless it equals the newest one.
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
	if r := t.store.kept(); r.Revisions > 0 && newest.Number >= int64(r.Revisions) {
		byNumber := Retention{Revisions: r.Revisions, Recent: r.Recent}
		if _, err := t.forgetOld([]fleet.DeviceID{p.Device}, byNumber); err != nil {
			return err
		}
	}
	if err := t.rememberPaths(p.Device, p.paths); err != nil {
		return err
	}
	return t.replaceFolders(p.Device, config.Folders)
}

// ObservedConfig returns the newest observed configuration of a device, including its secrets. Its field Folders stays
// empty.
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

// RevisionCause returns the cause of a revision, or "" if it is not known or the revision does not exist. The cause
// may become known only after the revision was stored.
func (s *Store) RevisionCause(ctx context.Context, id fleet.DeviceID, number int64) (cause string, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT cause FROM revisions WHERE device_id = $1 AND number = $2`, string(id),
		number).Scan(&cause)
	if absent(err) {
		return "", nil
	}
	return cause, failure("read revision", err)
}

// Revision returns one revision of a device, by its number, with its document.
func (s *Store) Revision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, err
	}
	return s.revision(ctx, id, selectDocuments+` AND r.number = $2`, string(id), number)
}

// explanation is the known cause of a configuration that is not stored yet. digest identifies the configuration.
type explanation struct{ digest, cause string }

// explain stores, in the writer's memory, the cause that the device's next revision gets if it is the configuration in
// e. If e is nil, explain removes a stored cause.
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

// causeOf returns the cause of a new configuration. If explainRevision stored a cause for it, causeOf returns that and
// removes it. Otherwise the cause is an edit at the daemon, or "" (not known) for the device's first configuration.
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

// explainRevision sets the cause of a configuration. If the device's newest revision has this digest, that revision
// gets the cause. Otherwise the device's next revision gets it, if that has this digest. Both cases occur: the watcher
// that observes a configuration and the caller that knows its cause do not wait for each other.
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
			Code:    fleet.CodeNotFound,
			Message: "this configuration of the device was never seen",
			Hint:    "GET devices/{id}/revisions lists those that were.",
			See:     fleet.Reference{Subject: fleet.SeeRevisions, ID: string(id)},
		}
	}
	if err != nil {
		return r, Document{}, failure("read revision", err)
	}
	document, err := s.openDocument(ctx, id, r.Digest, sealed)
	return r, document, err
}

// packers holds writers that compress, for reuse. Making one costs more than compressing a configuration of usual
// size.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil { // impossible: the level exists
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

// sealedNow returns the document of an observation, sealed with the present key. The key may have been replaced after
// the observation was prepared.
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

// Document is a stored configuration, compressed and with its seal opened.
type Document struct {
	device fleet.DeviceID
	packed []byte
}

// Open returns a reader of the configuration's text, including its secrets.
func (d Document) Open() io.Reader { return flate.NewReader(bytes.NewReader(d.packed)) }

// NewestDocument returns the newest revision of a device, with its configuration as a Document.
func (s *Store) NewestDocument(ctx context.Context, id fleet.DeviceID) (fleet.Revision, Document, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, Document{}, err
	}
	return s.document(ctx, id, selectDocuments+` ORDER BY r.number DESC LIMIT 1`, string(id))
}

// RevisionDocument is Revision, but returns the configuration as a Document instead of its text, which may be large.
func (s *Store) RevisionDocument(
	ctx context.Context, id fleet.DeviceID, number int64,
) (fleet.Revision, Document, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, Document{}, err
	}
	return s.document(ctx, id, selectDocuments+` AND r.number = $2`, string(id), number)
}

// smallDocument is the largest configuration, in bytes, that needs no reservation from Store.memory.
const smallDocument = 64 << 10

// take reserves memory for the work of ctx. It returns an error if there is not enough; the work must then end.
func (s *Store) take(ctx context.Context, bytes int64) error {
	if s.memory == nil {
		return nil
	}
	return s.memory.Take(ctx, bytes)
}

// unpackers holds readers that decompress, for reuse. Making one costs more than decompressing a configuration of
// usual size.
var unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// read returns the whole text. If the text is larger than smallDocument, read calls take with its size to reserve
// memory. To know the size before, it decompresses such a text twice.
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

// unpack returns the beginning of the text. most is how many bytes it returns at most.
func (d Document) unpack(r io.Reader, most int64) ([]byte, error) {
	if err := d.reset(r); err != nil {
		return nil, err
	}
	const usual = 5 // usual ratio of the text's length to the packed length
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
