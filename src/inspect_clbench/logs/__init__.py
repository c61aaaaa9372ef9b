"""The only reader of logs: files, folders and URLs become answers, and answers become series."""
