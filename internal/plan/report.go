package plan

// MaxReported is how many bytes of JSON the values in one report may take. A report may wait until there is memory for
// its reader.
const MaxReported = 256 << 10

// ForReport are changes without the documents that they come from, with as many values as there is room for. It leaves
// less room.
func ForReport(changes []Change, room *int) []Change {
	out := make([]Change, len(changes))
	for i, c := range changes {
		size := c.From.JSONSize(MaxReported) + c.To.JSONSize(MaxReported)
		fits := size <= *room
		if fits {
			*room -= size
		}
		out[i] = c.Reported(fits)
	}
	return out
}
