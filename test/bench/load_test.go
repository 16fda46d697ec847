package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load is a client that costs little itself: on the same two cores, what it takes the server does not get.
type load struct {
	address     string
	connections int
}

// run sends that many requests, over all connections, and gives the time that it took. Every answer must have the
// status.
func (l load) run(b testing.TB, requests, status int, request func(i int) []byte) time.Duration {
	b.Helper()
	var next atomic.Int64
	failed := make(chan error, l.connections)
	var all sync.WaitGroup
	began := time.Now()
	for range l.connections {
		all.Go(func() {
			c, err := net.Dial("tcp", l.address)
			if err != nil {
				failed <- err
				return
			}
			defer c.Close()
			in := bufio.NewReaderSize(c, 64<<10)
			for i := int(next.Add(1)) - 1; i < requests; i = int(next.Add(1)) - 1 {
				if err := exchange(c, in, request(i), status); err != nil {
					failed <- fmt.Errorf("request %d: %w", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	select {
	case err := <-failed:
		b.Fatal(err)
	default:
	}
	return took
}

func exchange(c net.Conn, in *bufio.Reader, request []byte, status int) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || string(line[9:12]) != strconv.Itoa(status) {
		rest, _ := in.Peek(in.Buffered())
		return fmt.Errorf("answered %s%s", line, rest)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); strings.EqualFold(string(name), "Content-Length") {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return err
}

// requestOf is a request as it goes over the wire.
func requestOf(method, host, path, token, etag string, body []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, host, token)
	if etag != "" {
		fmt.Fprintf(&out, "If-None-Match: %s\r\n", etag)
	}
	if body != nil {
		fmt.Fprintf(&out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	out.WriteString("\r\n")
	out.Write(body)
	return out.Bytes()
}

// plainOrder tells the bare server what to answer at a path.
type plainOrder struct {
	Path string `json:"path"`
	Body []byte `json:"body"`
	ETag string `json:"etag"`
}

type plainOutcome struct {
	Address string `json:"address"`
}

// runPlain is the yardstick's process for the API: net/http with nothing around it, which writes prepared bytes.
func runPlain(in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var prepared sync.Map
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			found, there := prepared.Load(r.URL.RequestURI())
			if !there {
				http.NotFound(w, r)
				return
			}
			answer := found.(plainOrder)
			header := w.Header()
			header.Set("Etag", answer.ETag)
			if answer.ETag != "" && r.Header.Get("If-None-Match") == answer.ETag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			header.Set("Content-Type", "application/json")
			header.Set("Content-Length", strconv.Itoa(len(answer.Body)))
			_, _ = w.Write(answer.Body)
		})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	return obey(in, out, func(o plainOrder) (plainOutcome, error) {
		prepared.Store(o.Path, o)
		return plainOutcome{listener.Addr().String()}, nil
	})
}
