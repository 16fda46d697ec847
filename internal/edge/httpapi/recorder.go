package httpapi

import (
	"net/http"
	"time"
)

const (
	// writePatience is how long a client may take for one piece of a reply, however many there are.
	writePatience = 30 * time.Second
	pieceBytes    = 256 << 10
)

// recorder remembers the status, for the log and to know whether an answer was begun. A client that takes nothing of a
// reply for too long loses its connection.
type recorder struct {
	http.ResponseWriter
	conn     *http.ResponseController
	patience time.Duration // for each piece
	until    time.Time     // for the whole reply; zero: as long as the pieces are taken
	status   int
}

// newRecorder makes the recorder of a request. The connection may carry the deadline of an earlier one.
func (s *server) newRecorder(w http.ResponseWriter) *recorder {
	rec := &recorder{ResponseWriter: w, conn: http.NewResponseController(w), patience: s.patience}
	_ = rec.conn.SetWriteDeadline(time.Time{}) // not every ResponseWriter has one
	return rec
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write gives the client time for every piece, not for the whole: a slow one gets a large list all the same.
func (w *recorder) Write(b []byte) (written int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	for {
		piece := b[written:min(written+pieceBytes, len(b))]
		w.extend()
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

func (w *recorder) extend() {
	deadline := time.Now().Add(w.patience)
	if !w.until.IsZero() && w.until.Before(deadline) {
		deadline = w.until
	}
	_ = w.conn.SetWriteDeadline(deadline)
}

// endsSoon bounds the whole reply: others wait for the memory that it takes.
func endsSoon(w http.ResponseWriter) {
	if rec, ok := w.(*recorder); ok {
		rec.until = time.Now().Add(heldTime)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func begun(w http.ResponseWriter) bool {
	rec, ok := w.(*recorder)
	return ok && rec.status != 0
}
