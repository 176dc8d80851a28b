package checker

// finders are the functions that look for the anomalies of the verdict's table, by name. Each
// anomaly's file enters its own.
var finders = map[string]func(*analysis) []Anomaly{}

// find looks for one kind of anomaly.
func (an *analysis) find(kind AnomalyInfo) []Anomaly {
	found := finders[kind.Name](an)
	for i := range found {
		found[i].Name, found[i].Property = kind.Name, kind.Property
	}
	return found
}
