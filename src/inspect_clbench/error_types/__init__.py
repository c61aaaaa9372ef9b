"""Why answers fail: a judge sorts failed answers into the error types of the paper's Table 3."""
