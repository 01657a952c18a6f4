"""The plain form of what a release's compiled parts would do: which drafts a greedy request keeps."""

import torch

from spec_examples.targets.stand_ins import verify_greedily


def kept(drafts, likeliest, bonus):
    """Drafts and likeliest tokens by request, and its bonus token."""
    flat = [token for each in likeliest for token in each]
    logits = torch.nn.functional.one_hot(torch.tensor(flat, dtype=torch.long), 50).float()
    counts = [len(each) for each in drafts]
    ids = torch.tensor([token for each in drafts for token in each])
    ends = torch.tensor(counts).cumsum(0)
    bonuses = torch.tensor(bonus).reshape(-1, 1)
    result = verify_greedily(ids, counts, max(counts), ends, None, logits, bonuses, None)
    assert result.dtype == torch.int32
    return result.tolist()


def test_drafts_are_kept_up_to_the_first_that_is_not_the_likeliest():
    assert kept([[5, 6, 7]], [[5, 6, 7]], [9]) == [[5, 6, 7, 9]]
    assert kept([[5, 6, 7]], [[5, 8, 7]], [9]) == [[5, 8, -1, -1]]
    assert kept([[5, 6, 7]], [[4, 6, 7]], [9]) == [[4, -1, -1, -1]]


def test_each_request_is_verified_by_itself_and_one_without_drafts_gets_its_bonus_token():
    assert kept([[5, 6], [], [7]], [[5, 1], [], [7]], [10, 11, 12]) == [[5, 1, -1], [11, -1, -1], [7, 12, -1]]
