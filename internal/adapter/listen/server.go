package listen

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of a client's connection. Replies as a whole have no limit, because event streams last; the API limits their
// pieces.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 2 * time.Minute
	idleTimeout    = 2 * time.Minute
	pingAfter      = 15 * time.Second // silence before a ping over HTTP/2: a client that reads nothing does not answer it
	pingTimeout    = 15 * time.Second
	maxHeaderBytes = 64 << 10
)

// Server makes a server for a socket that Listen opened.
func Server(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: closeWhenCrowded(handler), ConnContext: withConn,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			WriteByteTimeout: pingTimeout},
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
