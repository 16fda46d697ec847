package fleet

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AuditEnds is where the chain of the audit begins and ends.
type AuditEnds struct {
	FirstID   int64  `json:"firstID"`  // of the oldest entry that is kept
	Before    string `json:"before"`   // the hash of the entry before that, "" where there was none
	GapsUntil int64  `json:"gaps"`     // up to here entries were numbered before they were chained: numbers may be missing
	LastID    int64  `json:"lastID"`   // 0: there is no entry yet
	LastHash  string `json:"lastHash"` // of the entry LastID, or of the one before FirstID

	Rosters map[string]string `json:"rosters"` // of each table whose rows give a role, a digest of its list
}

// AuditFault is a place where the audit is not as Muster wrote it.
type AuditFault struct {
	ID     int64  // of the first entry that was changed, or is missing
	Detail string // for a person
}

// AuditReport is what a comparison of the audit, and of the rows that give a role, with their proofs found.
type AuditReport struct {
	Entries         int64
	FirstID, LastID int64
	LastHash        string
	Faults          []AuditFault // by ID
	Rows            []string     // what is wrong elsewhere, for a person
}

// AuditCheck follows the chain of the audit through all entries in order, oldest first.
type AuditCheck struct {
	ends     AuditEnds
	heads    []AuditHead // by ID
	lastID   int64
	lastHash string
	altered  bool // the last entry has been reported
	Entries  int64
	Faults   []AuditFault
	proven   int64 // up to here a head agrees
}

// NewAuditCheck expects a chain with these ends, which agrees with the heads. Their signatures are the caller's affair.
func NewAuditCheck(ends AuditEnds, heads []AuditHead) *AuditCheck {
	heads = slices.SortedFunc(slices.Values(heads), func(a, b AuditHead) int { return int(a.ID - b.ID) })
	return &AuditCheck{ends: ends, heads: heads, lastID: ends.FirstID - 1, lastHash: ends.Before}
}

func (c *AuditCheck) fault(id int64, format string, args ...any) {
	c.Faults = append(c.Faults, AuditFault{ID: id, Detail: fmt.Sprintf(format, args...)})
}

// Add is the next entry.
func (c *AuditCheck) Add(e AuditEntry) {
	c.Entries++
	altered := e.Hash != e.Sum()
	missing := e.ID > c.lastID+1 && e.ID > c.ends.GapsUntil
	follows := e.Previous == c.lastHash
	switch {
	case missing || !altered && !follows && e.ID > c.lastID+1:
		c.fault(c.lastID+1, "%s missing", entries(c.lastID+1, e.ID-1))
	case !altered && !follows && !c.altered:
		c.fault(max(c.lastID, c.ends.FirstID), "entry %d was rewritten: entry %d does not follow it", c.lastID, e.ID)
	}
	if altered {
		c.fault(e.ID, "entry %d was changed", e.ID)
	}
	if e.What == AuditTampered {
		c.fault(e.ID, "entry %d records that tampering was found: %s", e.ID, e.Detail)
	}
	c.lastID, c.lastHash, c.altered = e.ID, e.Hash, altered
	c.compareHeads(e)
}

func entries(from, to int64) string {
	if from == to {
		return fmt.Sprintf("entry %d is", from)
	}
	return fmt.Sprintf("entries %d to %d are", from, to)
}

// compareHeads compares an entry with the heads that were signed when it was the last.
func (c *AuditCheck) compareHeads(e AuditEntry) {
	for len(c.heads) > 0 && c.heads[0].ID <= e.ID {
		head := c.heads[0]
		c.heads = c.heads[1:]
		switch {
		case head.ID < e.ID: // its entry is gone, which Add has reported, or was forgotten in order
		case head.Hash == e.Hash || head.Hash == e.Sum():
			c.proven = e.ID
		case c.altered: // Add has reported it, and what its hash was is not known
		default:
			c.fault(max(c.proven+1, c.ends.FirstID), "%s not as when the head of %s was signed", entries(max(c.proven+1,
				c.ends.FirstID), head.ID), head.At.UTC().Format(time.RFC3339))
		}
	}
}

// EndAt is End for a chain that is known to end here, as far as the heads do not say otherwise.
func (c *AuditCheck) EndAt(lastID int64, lastHash string) []AuditFault {
	c.ends.LastID, c.ends.LastHash = lastID, lastHash
	return c.End()
}

// End compares the end of the chain and gives what was found, by entry.
func (c *AuditCheck) End() []AuditFault {
	switch {
	case c.lastID < c.ends.LastID:
		c.fault(c.lastID+1, "%s missing at the end", entries(c.lastID+1, c.ends.LastID))
	case c.lastID > c.ends.LastID:
		c.fault(c.ends.LastID+1, "%s not written by Muster", entries(c.ends.LastID+1, c.lastID))
	case c.lastHash != c.ends.LastHash && !c.altered:
		from := max(c.proven+1, c.ends.FirstID)
		c.fault(from, "%s not as Muster wrote them: one was rewritten, and those after it", entries(from, c.lastID))
	}
	if n := len(c.heads); n > 0 && c.heads[n-1].ID > max(c.lastID, c.ends.LastID) {
		c.fault(c.lastID+1, "%s missing at the end: a head was signed at entry %d", entries(c.lastID+1, c.heads[n-1].ID),
			c.heads[n-1].ID)
	}
	slices.SortStableFunc(c.Faults, func(a, b AuditFault) int { return int(a.ID - b.ID) })
	return c.Faults
}

// AuditHead is a signed statement of how the audit ended at a time.
type AuditHead struct {
	ID        int64 // of the last entry
	Hash      string
	At        time.Time
	Signature []byte // Ed25519, of SignedText
}

// SignedText is what a head's signature is about.
func (h AuditHead) SignedText() []byte {
	return fmt.Appendf(nil, "muster audit head 1\n%d\n%d\n%s\n", h.ID, h.At.UnixMilli(), h.Hash)
}

// SignedBy tells whether the key has signed the head.
func (h AuditHead) SignedBy(key ed25519.PublicKey) bool {
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, h.SignedText(), h.Signature)
}

// String is the head as one word: ID, time in milliseconds since 1970, hash and signature.
func (h AuditHead) String() string {
	return fmt.Sprintf("%d:%d:%s:%s", h.ID, h.At.UnixMilli(), h.Hash, base64.RawURLEncoding.EncodeToString(h.Signature))
}

// ParseAuditHead reads what String wrote.
func ParseAuditHead(text string) (h AuditHead, err error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) != 4 {
		return h, notAHead(nil)
	}
	var millis int64
	if h.ID, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return h, notAHead(err)
	}
	if millis, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return h, notAHead(err)
	}
	h.At, h.Hash = time.UnixMilli(millis).UTC(), parts[2]
	if h.Signature, err = base64.RawURLEncoding.DecodeString(parts[3]); err != nil {
		return h, notAHead(err)
	}
	return h, nil
}

func notAHead(cause error) error {
	e := Invalidf("head", "this is no head of the audit: it reads ID:TIME:HASH:SIGNATURE")
	e.Hint, e.Err = "Copy it whole from the log line \"audit head\", or from `muster audit head`.", cause
	return e
}
