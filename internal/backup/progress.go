package backup

// Step is a part of the work of a backup.
type Step string

// The steps of a backup, in their order.
const (
	StepWrite Step = "write"
	StepRead  Step = "read back"
)

// Progress is how far a step is.
type Progress struct {
	Step Step
	Rows int
	Of   int // 0 while it is not known how many rows there are
}

// tellEvery is the number of rows after which progress is told again.
const tellEvery = 1000

// counted is a Sink whose rows are counted and told.
func (s Source) counted(to Sink, at Progress) Sink {
	if s.Tell == nil || to == nil {
		return to
	}
	s.Tell(at)
	return &counter{Sink: to, at: at, tell: s.Tell}
}

type counter struct {
	Sink
	at   Progress
	tell func(Progress)
}

// Row passes a row on.
func (c *counter) Row(values []any) error {
	err := c.Sink.Row(values)
	if c.at.Rows++; c.at.Rows%tellEvery == 0 || c.at.Rows == c.at.Of {
		c.tell(c.at)
	}
	return err
}
