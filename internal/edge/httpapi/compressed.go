package httpapi

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// A client that reads gets a large answer compressed, unless the answer may show a secret; ADR 72 says why those are
// sent as they are.

const (
	// leastCompressed is the length from which an answer is compressed, in bytes: a shorter one fits into one packet.
	leastCompressed = 1400
	// compressionLevel makes the JSON of an inventory a tenth shorter than the fastest one, in the same time. Higher
	// levels take longer for little.
	compressionLevel = 5
	// compressedMark ends the ETag of a compressed answer.
	compressedMark = `-gzip"`
)

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, compressionLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// compressible reports whether the answer is one that is compressed for clients that accept it. The answers that
// nobody may store are those that can show a secret: they have secret set.
func (out reply) compressible(r *http.Request) bool {
	return reads(r) && !out.secret && out.etag != "" && out.size() >= leastCompressed
}

// size is the length of the answer in bytes before compression.
func (out reply) size() int64 {
	if out.body != nil {
		return int64(len(out.body))
	}
	return out.length
}

// writeCompressed writes the content of the answer through a compressor. The connection is aborted when the document
// fails: the client must not take a part for the whole.
func (out reply) writeCompressed(w io.Writer) {
	packer := compressors.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool holds nothing else
	defer compressors.Put(packer)
	packer.Reset(w)
	var err error
	if out.document != nil {
		err = out.document.buffered(packer)
	} else {
		_, err = packer.Write(out.body)
	}
	if err == nil {
		err = packer.Close()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// compressedETag is the validator of the compressed form of an answer. Strong validators of two forms must differ
// (RFC 9110, 8.8.3).
func compressedETag(etag string) string { return strings.TrimSuffix(etag, `"`) + compressedMark }

// plainETag is the validator of the answer itself. Both forms have the same content, so conditions take either.
func plainETag(etag string) string {
	if plain, marked := strings.CutSuffix(etag, compressedMark); marked {
		return plain + `"`
	}
	return etag
}

// acceptsGzip reads Accept-Encoding (RFC 9110, 12.5.3). A client that does not send it gets the answer as it is.
func acceptsGzip(r *http.Request) bool {
	others := false
	for _, one := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, weight, _ := strings.Cut(one, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return isWanted(weight)
		case "*":
			others = isWanted(weight)
		}
	}
	return others
}

// isWanted reads the weight of a coding: "q=0" refuses it.
func isWanted(weight string) bool {
	name, value, given := strings.Cut(strings.TrimSpace(weight), "=")
	if !given || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return true
	}
	quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && quality > 0
}
