"""The certificate: what may be concluded, as a document that is written, read back and checked.

``document`` writes a leaderboard as the records that ``records/certificate`` defines, and as JSON. ``derive`` has what
follows from stated facts, once: whoever writes a document and whoever checks one call it. ``parts`` is a document in
arrays, with what follows from it written again. ``certificate`` has it in the order shown, which is all that displays
get. ``numbers`` rounds outward and forecasts, ``exports`` writes for other programs, ``provenance`` has digest, command
and the certificate inside a page. ``of_board`` alone knows boards. Nothing here checks a certificate: ``verify`` does.
"""
