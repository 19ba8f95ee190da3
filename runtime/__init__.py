"""Who owns a buffer until when: mapping, binding, submission, retirement."""
