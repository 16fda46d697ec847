package store

import (
	"bytes"
	"context"
	"database/sql"
	"sync"

	"github.com/klauspost/compress/flate"

	"muster/internal/fleet"
)

// observeConfig makes a revision unless the configuration is the one seen last.
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
	if err := t.rememberPaths(p.Device, p.paths, newest); err != nil {
		return err
	}
	return t.replaceFolders(p.Device, config.Folders)
}

// ObservedConfig is the configuration that the device was last seen with, with its secrets. Its folders are in the
// document.
func (s *Store) ObservedConfig(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.ObservedConfig{}, err
	}
	newest, err := s.revision(ctx, id, selectDocuments+` ORDER BY r.number DESC LIMIT 1`, string(id))
	return fleet.ObservedConfig{JSON: newest.JSON, Digest: newest.Digest, SeenAt: newest.SeenAt, Cause: newest.Cause}, err
}

// Revisions are all of a device, newest first, without their documents.
func (s *Store) Revisions(ctx context.Context, id fleet.DeviceID) ([]fleet.Revision, error) {
	if _, err := s.registered(id); err != nil {
		return nil, err
	}
	const all = selectRevisions + ` WHERE device_id = $1 ORDER BY number DESC`
	revisions, err := collect(ctx, pool{s.reads}, scanRevision, all, string(id))
	return revisions, failure("read revisions", err)
}

// Revision is one of a device, with its document.
func (s *Store) Revision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, err
	}
	return s.revision(ctx, id, selectDocuments+` AND r.number = $2`, string(id), number)
}

// explanation is what caused a configuration that is not kept yet.
type explanation struct{ digest, cause string }

// explain remembers what was said about a configuration of a device; nil forgets it.
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

// causeOf is why a device has a new configuration: what was explained before, which holds this once, else an edit at
// the daemon. Why it had its first one is not known.
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

// explainRevision gives the newest revision of a device its cause, if that is this configuration, or the next one to
// be kept that is: what observes and what knows the cause do not wait for one another.
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

// scanRevision takes what selectRevisions gives, and more columns when told where to put them.
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
	r.JSON, err = document.read(ctx)
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

// packers and unpackers are kept: making one costs more than packing a usual configuration.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil { // the level is one that exists
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

// sealedNow is the document of an observation, sealed with the key that seals now: another one may have taken the place
// of the key since the observation was prepared.
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
	if err := takeLarge(ctx, 2*len(sealed)); err != nil {
		return Document{}, err
	}
	packed, err := s.seal.Open("revision_bodies", string(id)+"/"+digest, "document", sealed)
	return Document{id, packed}, err
}
