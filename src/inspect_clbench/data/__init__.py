"""Where rows come from, which of them are taken, and the samples that they become."""
