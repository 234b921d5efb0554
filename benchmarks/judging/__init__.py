"""Judging: is a printed number reproduced, does a statement of the paper hold, did training collapse?"""
