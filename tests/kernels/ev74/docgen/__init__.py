"""The tests of kernels.ev74.docgen."""
