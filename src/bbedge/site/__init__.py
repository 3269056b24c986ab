"""A board as a static folder, for any web server: pages, the data that check them, a feed and badges.

``publish`` says what is in it, ``rows`` what happened to every row, ``feed`` what was certified when, and ``folder``
puts all of it in place at once.
"""
