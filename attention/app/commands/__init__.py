"""``python -m attention COMMAND``: a file for each command.

study.py and workers.py are shared by the commands that train several models.
"""
