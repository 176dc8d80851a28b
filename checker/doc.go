// Package checker turns a history into a verdict. It knows the properties of a
// lock, the anomalies that break them and the evidence of each. It knows no
// network, no process and no clock: the same history always gives the same
// verdict.
//
// It reads in one direction. The reader takes events apart into operations and grants;
// analysis draws them together, and nothing changes it any more; finders, one a kind of
// anomaly, each return what they found; judges, one a property, say what it means. Where
// Porcupine can give a second opinion, the cross-check asks for it.
package checker
