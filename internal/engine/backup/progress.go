package backup

// Step is one of the steps of making a backup.
type Step string

// The steps of a backup, in order.
const (
	StepWrite Step = "write"
	StepRead  Step = "read back"
)

// Progress is how much of a step is done.
type Progress struct {
	Step Step
	Rows int
	Of   int // 0 while the number of rows is not known
}

// tellEvery is how many rows are between two reports of progress.
const tellEvery = 1000

// counted returns a Sink that passes everything on to another Sink, counts the rows and reports progress.
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
